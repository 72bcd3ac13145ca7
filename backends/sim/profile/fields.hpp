// Where each value of a Profile stands in its JSON document: one list, used in both directions. Thread-safe.
#pragma once

#include <nlohmann/json.hpp>

#include "backends/sim/profile/profile.hpp"

namespace rkv::sim {

// The values that the document gives, over the defaults. The document has passed the schema; its "base" and
// "hosts" have been replaced by what they mean.
Profile read_fields(const nlohmann::json& document);

// Every field of the profile.
nlohmann::json write_fields(const Profile& profile);

}  // namespace rkv::sim
