// Which fields mean something for which scenario. A field that would be ignored is refused instead, and the
// resolved scenario leaves it out. Thread-safe.
#pragma once

#include <nlohmann/json.hpp>

#include "core/document/problems.hpp"
#include "core/scenario/scenario.hpp"

namespace rkv {

// Adds a problem for each field in `given` (what a person wrote, without preset and defaults) that means
// nothing in this scenario.
void check_applicable(const Scenario& scenario, const nlohmann::json& given, Problems& problems);

// Takes those fields out of the document.
void remove_inapplicable(const Scenario& scenario, nlohmann::json& document);

}  // namespace rkv
