// The JSON schema validator, kept apart because its headers are slow to compile. Thread-safe.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace rkv {

// A place that the schema refuses, in the validator's own words. Lists and objects around it are named too.
struct Refusal {
  std::string pointer;
  std::string text;
};

// Nothing when the scenario's schema accepts the document.
std::vector<Refusal> refusals_by_schema(const nlohmann::json& document);

}  // namespace rkv
