// The scenario's JSON schema, compiled in: checks documents and says in words what a field may hold.
// All functions are thread-safe.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/scenario/problems.hpp"

namespace rkv {

// scenarios/scenario.schema.json, JSON schema draft 7.
std::string_view scenario_schema_text();

// The part of the schema that describes the field, or null when there is no such field.
const nlohmann::json* schema_of(const nlohmann::json::json_pointer& field);

// "a whole number from 1 to 16384: receives posted ..."
std::string allowed(const nlohmann::json& schema_part);

// Adds a problem for every field that the schema refuses.
void check_schema(const nlohmann::json& document, Problems& problems);

// The value as JSON, cut to a length that suits an error message.
std::string shown(const nlohmann::json& value);

}  // namespace rkv
