// Values from the command line over those of a file: "path=value". The path is dotted
// (queue_pair.receive_depth) or a JSON pointer; the value is JSON, else a text. Thread-safe.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/document/problems.hpp"
#include "core/document/schema.hpp"

namespace rkv {

// A program's option that takes "path=value", for messages.
struct OverrideOption {
  std::string_view name;     // "--set"
  std::string_view example;  // "queue_pair.receive_depth=32"
};

struct Override {
  nlohmann::json::json_pointer field;
  nlohmann::json value;
};

// "queue_pair.receive_depth" or "/queue_pair/receive_depth". Throws InputError.
nlohmann::json::json_pointer field_pointer(std::string_view path, const OverrideOption& option);

// False, and a problem, when the schema has no such field, or it is within a list: lists are set as a whole.
bool check_field(const Schema& schema, const nlohmann::json::json_pointer& field, Problems& problems);

// One "path=value"; nothing, and a problem, where check_field refuses it. Problems at or below the field will
// say that the option set it. Throws InputError when the text is of another form.
std::optional<Override> parse_override(const Schema& schema, const std::string& text,
                                       const OverrideOption& option, Problems& problems);

// Puts the value at the field; null takes the field out, back to its default. A problem is added, and nothing
// changed, where another value is in the way.
void put_field(nlohmann::json& document, Override given, Problems& problems);

}  // namespace rkv
