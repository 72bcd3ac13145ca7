#include "core/document/problems.hpp"

#include <fmt/format.h>

#include "core/error.hpp"

namespace rkv {
namespace {

bool at_or_below(std::string_view pointer, std::string_view ancestor) {
  return pointer.starts_with(ancestor) &&
         (pointer.size() == ancestor.size() || pointer[ancestor.size()] == '/');
}

}  // namespace

std::string Problems::message() const {
  std::string message;
  for (const Problem& problem : problems_) {
    if (!message.empty()) {
      message += '\n';
    }
    message +=
        fmt::format("{}: {}: {}", source_, problem.pointer.empty() ? "/" : problem.pointer, problem.text);
    for (const Problem& option : options_) {
      if (at_or_below(problem.pointer, option.pointer)) {
        message += fmt::format(" (set by {})", option.text);
      }
    }
  }
  return message;
}

void Problems::throw_if_any() const {
  if (!problems_.empty()) {
    throw InputError(message());
  }
}

}  // namespace rkv
