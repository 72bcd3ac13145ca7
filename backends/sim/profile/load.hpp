// Profiles from JSON: a file, with values from the command line over it, or a text out of a report.
//
// Everything here throws InputError when something is wrong, with one line a problem:
//   <file>: <JSON pointer>: <what was given, what is allowed>
// Nothing is ignored silently. Thread-safe.
//
// A file may name another one, its "base" (a path beside it), whose values are taken where it gives none. It
// may give "hosts", which is for both "server" and "client", and these over it. Values are merged field by
// field (RFC 7396): null takes a value out, back to its default; a list replaces the list.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "backends/sim/profile/profile.hpp"
#include "core/document/overrides.hpp"

namespace rkv::sim {

// The option that a program takes overrides by.
inline constexpr OverrideOption profile_set_option{"--set-profile", "hosts.scheduler.switch_cost_ns=1200"};

// `overrides` are "path=value", applied one after the other, each as though a file with that one field had
// this one as its base: path is dotted (nic.rc.send_ns) or a JSON pointer; value is JSON, else a text.
Profile load_profile(const std::filesystem::path& file, const std::vector<std::string>& overrides = {});

// A profile in a text, without a base, with the same checks. `source` names where it came from in errors.
Profile parse_profile(std::string_view json_text, const std::string& source);

// The complete profile, every default written out, for server and client each. parse_profile reads it back to
// an equal Profile.
nlohmann::json to_json(const Profile& profile);

}  // namespace rkv::sim
