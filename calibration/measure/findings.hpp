// What was measured, what Linux told, and what stays as in the base profile: with the profile that it makes.
// Plain data.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "calibration/measure/sample.hpp"

namespace rkv::calibration {

// Fields are named as in docs/profile.md, by dots, a host's under "hosts".
struct Figure {
  std::string name;
  std::string unit;
  Estimate estimate;
  std::string how;
  std::vector<std::string> fields;  // that have it; none: it is a check
};

struct Observation {
  std::string field;
  nlohmann::json value;
  std::string source;
};

struct Left {
  std::string what;  // a field, or a part of the profile
  std::vector<std::string> fields;
  std::string why;
};

struct Findings {
  std::vector<Figure> figures;
  std::vector<Observation> observations;
  std::vector<Left> left;
  nlohmann::json profile;  // complete, without name and description
};

}  // namespace rkv::calibration
