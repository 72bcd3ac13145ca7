// What a schema can't say: whether a profile's values make sense together. Thread-safe.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "backends/sim/profile/profile.hpp"

namespace rkv::sim {

// Where a value stands in the resolved document (below /server and /client, never /hosts), and what is wrong
// with it.
using Complain = std::function<void(const nlohmann::json::json_pointer& at, const std::string& text)>;

// Complains of everything that is contradictory or impossible. The profile has been read from a document that
// passed the schema.
void check_profile(const Profile& profile, const Complain& complain);

}  // namespace rkv::sim
