#include "core/document/name.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/document/schema.hpp"

namespace rkv {
namespace {

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

void check_name(const std::string& at, const std::string& name, std::string_view signs, Problems& problems) {
  const bool sound =
      !name.empty() && is_letter_or_digit(name.front()) && std::all_of(name.begin(), name.end(), [&](char c) {
        return is_letter_or_digit(c) || signs.find(c) != std::string_view::npos;
      });
  if (!sound) {
    problems.add(at, fmt::format("given {}; allowed: letters, digits and {}, a letter or digit first",
                                 shown(name), signs));
  }
}

std::string name_from(const std::string& stem, std::string_view kind) {
  std::string name;
  for (const char c : stem) {
    const bool sign = name_signs.find(c) != std::string_view::npos;
    name += is_letter_or_digit(c) || (sign && !name.empty()) ? c : '_';
  }
  return name.empty() || name.front() == '_' ? std::string(kind) + name : name;
}

}  // namespace rkv
