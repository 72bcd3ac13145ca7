// Points, gathered into curves: values of one metric against the number of clients.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "calibration/curves/points.hpp"

namespace rkv::calibration {

struct CurveKey {
  std::string transport;
  std::string completion;
  std::string metric;
  std::string scenario = {};  // as a point's

  auto operator<=>(const CurveKey&) const = default;
};

// "uc busy", and the scenario where there is one.
[[nodiscard]] std::string curve_name(const CurveKey& key);

struct Sample {
  std::uint32_t clients = 0;
  double value = 0;

  bool operator==(const Sample&) const = default;
};

using Curve = std::vector<Sample>;  // by ascending clients, each once

// Points without a value are left out. Each key occurs once in `points`, as in a PointFile.
[[nodiscard]] std::map<CurveKey, Curve> curves_of(const std::vector<Point>& points);

}  // namespace rkv::calibration
