// Scenarios from JSON: a file, with values from the command line over it, or a text that came over the
// network.
//
// Everything here throws InputError when something is wrong, with one line a problem:
//   <file>: <JSON pointer>: <what was given, what is allowed>
// Nothing is ignored silently. Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/scenario/scenario.hpp"

namespace rkv {

// The scenario in a file that has no sweep. `overrides` are "path=value" (--set): path is dotted
// (queue_pair.receive_depth) or a JSON pointer; value is JSON, else a text; null takes the field out.
// `clients`, where not empty, takes the place of the file's.
Scenario load_scenario(const std::filesystem::path& file, const std::vector<std::string>& overrides = {},
                       const std::vector<std::uint32_t>& clients = {});

// One scenario for each combination of the file's sweep (and of one given by --set sweep=...); just one where
// there is none.
std::vector<Scenario> expand(const std::filesystem::path& file,
                             const std::vector<std::string>& overrides = {},
                             const std::vector<std::uint32_t>& clients = {});

// A complete scenario in a text, with the same checks; safe on untrusted input. `source` names where it came
// from in errors.
Scenario parse_scenario(std::string_view json_text, const std::string& source);

// The complete resolved scenario: presets replaced by what they mean, every default written out, fields that
// mean nothing in it left out. parse_scenario reads it back to an equal Scenario.
nlohmann::json to_json(const Scenario& scenario);

// Throws unless the scenario, made in code, could have come from a file.
void validate(const Scenario& scenario, const std::string& source);

}  // namespace rkv
