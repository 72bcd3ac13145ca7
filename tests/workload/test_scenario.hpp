// A scenario for tests, from a few fields.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/scenario/load.hpp"

namespace rkv {

inline Scenario scenario_with(const std::string& fields) {
  return parse_scenario(R"({"load": {"total_operations": 100000}, "clients": 4, )" + fields + "}", "test");
}

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace rkv
