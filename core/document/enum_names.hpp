// The words that documents use for the values of an enumeration.
#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace rkv {

// Specialised for each enumeration: a constexpr array `values` of pairs of value and word.
template <typename Enum>
struct EnumNames;

template <typename Enum>
[[nodiscard]] constexpr std::string_view name_of(Enum value) {
  for (const auto& [candidate, word] : EnumNames<Enum>::values) {
    if (candidate == value) {
      return word;
    }
  }
  return "?";
}

}  // namespace rkv
