// The profile's JSON schema, compiled in. Thread-safe.
#pragma once

#include "core/document/schema.hpp"

namespace rkv::sim {

// calibration/profiles/profile.schema.json.
const Schema& profile_schema();

}  // namespace rkv::sim
