// Made-up curves to compare.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "calibration/compare/side.hpp"

namespace rkv::test {

// Points of a transport with busy polling.
inline void add(calibration::Side& side, const std::string& transport, const std::string& metric,
                const std::vector<std::pair<std::uint32_t, double>>& values) {
  for (const auto& [clients, value] : values) {
    side.points.push_back({.transport = transport,
                           .completion = "busy",
                           .clients = clients,
                           .metric = metric,
                           .value = value,
                           .spread = {},
                           .line = 0});
  }
}

}  // namespace rkv::test
