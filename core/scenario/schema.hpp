// The scenario's JSON schema, compiled in. Thread-safe.
#pragma once

#include "core/document/schema.hpp"

namespace rkv {

// scenarios/scenario.schema.json.
const Schema& scenario_schema();

}  // namespace rkv
