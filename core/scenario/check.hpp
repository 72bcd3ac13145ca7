// What a schema can't say: whether a scenario's values make sense together, whatever the device. Thread-safe.
#pragma once

#include <nlohmann/json.hpp>

#include "core/document/problems.hpp"
#include "core/scenario/scenario.hpp"

namespace rkv {

// Before reading: is the exchange that the document names one that its transport has, and that this version
// supports? False when a problem was added.
bool check_exchange(const nlohmann::json& document, Problems& problems);

// Adds a problem for everything that is contradictory, missing or impossible.
void check_scenario(const Scenario& scenario, Problems& problems);

}  // namespace rkv
