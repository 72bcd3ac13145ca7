// Where each value of a Scenario stands in its JSON document: one list, used in both directions.
// Thread-safe.
#pragma once

#include <nlohmann/json.hpp>

#include "core/scenario/scenario.hpp"

namespace rkv {

// The values that the document gives, over the defaults. The document has passed the schema, and its exchange
// is one that this version supports.
Scenario read_fields(const nlohmann::json& document);

// Every field of the scenario, whether it applies or not.
nlohmann::json write_fields(const Scenario& scenario);

}  // namespace rkv
