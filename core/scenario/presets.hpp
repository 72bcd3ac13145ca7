// Published workloads: operations, keys, sizes and the message capacities that hold them. Thread-safe.
#pragma once

#include <nlohmann/json.hpp>

#include "core/document/problems.hpp"

namespace rkv {

// The document with its preset's fields under its own and "preset" gone; the document itself where it names
// none. A problem is added for a preset that can't be had.
nlohmann::json apply_preset(const nlohmann::json& document, Problems& problems);

}  // namespace rkv
