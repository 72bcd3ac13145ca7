// Values from the command line over those of a file. Thread-safe.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/scenario/problems.hpp"

namespace rkv {

// "queue_pair.receive_depth" or "/queue_pair/receive_depth".
nlohmann::json::json_pointer field_pointer(std::string_view path);

// Puts `value` at the field; null takes the field out, back to its default. A problem is added, and nothing
// changed, when there is no such field. `option` is what was typed, for messages.
void set_field(nlohmann::json& document, const nlohmann::json::json_pointer& field, nlohmann::json value,
               const std::string& option, Problems& problems);

// Applies one "path=value" of --set. The value is JSON, else a text.
void apply_override(nlohmann::json& document, const std::string& option, Problems& problems);

// "1,2,4": for --clients. Throws InputError.
std::vector<std::uint32_t> parse_client_list(std::string_view text);

}  // namespace rkv
