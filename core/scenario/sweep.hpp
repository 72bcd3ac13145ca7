// One document with a "sweep" becomes one document for each combination of its values. Thread-safe.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/document/problems.hpp"

namespace rkv {

inline constexpr std::size_t max_sweep_scenarios = 4096;

struct SweepMember {
  nlohmann::json document;  // without "sweep"
  std::string suffix;       // of the name: "-receive_depth=32"; empty where nothing is swept
  Problems problems;        // those found so far
};

// The fields vary in the order of their names, the last one fastest. A sweep that makes no sense gives one
// member with the problems.
std::vector<SweepMember> expand_sweep(const nlohmann::json& document, const Problems& problems);

}  // namespace rkv
