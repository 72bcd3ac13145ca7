// Why measuring one machine leaves fields of its profile alone. Thread-safe.
#pragma once

#include <span>
#include <string_view>

namespace rkv::calibration {

struct Reason {
  std::string_view part;  // of the profile: a field, or an object with all its fields
  std::string_view why;
};

// In this order: the first part that a field belongs to. The last one is "", for all the rest.
[[nodiscard]] std::span<const Reason> reasons_to_leave(bool soft);

// Whether the field is this part, or below it.
[[nodiscard]] bool belongs(std::string_view field, std::string_view part);

}  // namespace rkv::calibration
