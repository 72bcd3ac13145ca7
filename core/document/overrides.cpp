#include "core/document/overrides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.hpp"

namespace rkv {
namespace {

using nlohmann::json;
using Pointer = json::json_pointer;

// Whether an element of a list is on the way to the field. Lists are set as a whole.
bool within_list(const Schema& schema, Pointer field) {
  while (!field.empty()) {
    field.pop_back();
    const json* const part = schema.at(field);
    if (part != nullptr && !part->contains("properties") && part->contains("items")) {
      return true;
    }
  }
  return false;
}

// The nearest ancestor that the schema knows, and what it holds: tells where a path went wrong.
std::string unknown_field(const Schema& schema, Pointer field) {
  const std::string name = field.back();
  field.pop_back();
  const json* const parent = schema.at(field);
  if (parent == nullptr || within_list(schema, field)) {
    return unknown_field(schema, field);
  }
  std::string allowed_names;
  if (parent->contains("properties")) {
    for (const auto& [known, part] : (*parent)["properties"].items()) {
      allowed_names += (allowed_names.empty() ? "" : ", ") + known;
    }
  }
  const std::string where = field.empty() ? "/" : field.to_string();
  return allowed_names.empty()
             ? fmt::format("unknown field \"{}\": {} has no fields; set it as a whole", name, where)
             : fmt::format("unknown field \"{}\"; allowed in {}: {}", name, where, allowed_names);
}

// Every object on the way exists or can be made; false where something else is in the way.
bool parents_are_objects(const json& document, Pointer field) {
  for (field.pop_back(); !field.empty(); field.pop_back()) {
    if (document.contains(field) && !document.at(field).is_object()) {
      return false;
    }
  }
  return true;
}

}  // namespace

nlohmann::json::json_pointer field_pointer(std::string_view path, const OverrideOption& option) {
  if (path.starts_with('/')) {
    try {
      return Pointer(std::string(path));
    } catch (const json::exception&) {
      std::string example = "/" + std::string(option.example.substr(0, option.example.find('=')));
      std::replace(example.begin(), example.end(), '.', '/');
      throw InputError(
          fmt::format("{} {}: not a JSON pointer; write it like {}", option.name, path, example));
    }
  }
  Pointer pointer;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    pointer.push_back(std::string(path.substr(0, dot)));
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  }
  return pointer;
}

bool check_field(const Schema& schema, const nlohmann::json::json_pointer& field, Problems& problems) {
  if (field.empty()) {
    problems.add("", "no field is named; write path=value");
    return false;
  }
  const json* const parent = schema.at(field.parent_pointer());
  if (schema.at(field) == nullptr || within_list(schema, field) ||
      (!parent->contains("properties") && !parent->contains("additionalProperties"))) {
    problems.add(field.to_string(), unknown_field(schema, field));
    return false;
  }
  return true;
}

std::optional<Override> parse_override(const Schema& schema, const std::string& text,
                                       const OverrideOption& option, Problems& problems) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw InputError(
        fmt::format("{} {}: not of the form path=value, for example {}", option.name, text, option.example));
  }
  const Pointer field = field_pointer(std::string_view(text).substr(0, equals), option);
  problems.set_by_option(field.to_string(), fmt::format("{} {}", option.name, text));
  if (!check_field(schema, field, problems)) {
    return std::nullopt;
  }
  const std::string written = text.substr(equals + 1);
  json value = json::parse(written, nullptr, false);
  const bool is_text = schema.at(field)->value("type", "") == "string" && !value.is_null();
  if (value.is_discarded() || (is_text && !value.is_string())) {
    value = written;
  }
  return Override{field, std::move(value)};
}

void put_field(nlohmann::json& document, Override given, Problems& problems) {
  if (!parents_are_objects(document, given.field)) {
    problems.add(given.field.to_string(), "can't be set: an object on the way to it was given another value");
  } else if (!given.value.is_null()) {
    document[given.field] = std::move(given.value);
  } else if (document.contains(given.field)) {
    document.at(given.field.parent_pointer()).erase(given.field.back());
  }
}

}  // namespace rkv
