// Collects everything that is wrong with a document, so that a person reads it all at once.
// Not thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rkv {

// A JSON pointer (RFC 6901) to the field and what is wrong with it: what was given, what is allowed.
struct Problem {
  std::string pointer;
  std::string text;
};

class Problems {
 public:
  // `source` names the text that was read: a file's path, or who sent it.
  explicit Problems(std::string source) : source_(std::move(source)) {}

  void add(std::string pointer, std::string text) {
    problems_.push_back({std::move(pointer), std::move(text)});
  }
  [[nodiscard]] bool empty() const { return problems_.empty(); }
  [[nodiscard]] const std::vector<Problem>& all() const { return problems_; }

  // Problems at or below this pointer mention that the command line set it: `option` is what was typed.
  void set_by_option(std::string pointer, std::string option) {
    options_.push_back({std::move(pointer), std::move(option)});
  }

  // One line a problem, without a newline at the end:
  //   <source>: <pointer>: <text>
  [[nodiscard]] std::string message() const;

  // Throws InputError with the message when there is any.
  void throw_if_any() const;

 private:
  std::string source_;
  std::vector<Problem> problems_;
  std::vector<Problem> options_;  // text: the option
};

}  // namespace rkv
