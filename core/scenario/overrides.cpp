#include "core/scenario/overrides.hpp"

#include <fmt/format.h>

#include <charconv>

#include "core/error.hpp"
#include "core/scenario/document.hpp"
#include "core/scenario/schema.hpp"

namespace rkv {
namespace {

using nlohmann::json;
using Pointer = json::json_pointer;

// The nearest ancestor that the schema knows, and what it holds: tells where a path went wrong.
std::string unknown_field(Pointer field) {
  const std::string name = field.back();
  field.pop_back();
  const json* const parent = schema_of(field);
  if (parent == nullptr) {
    return unknown_field(field);
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

nlohmann::json::json_pointer field_pointer(std::string_view path) {
  if (path.starts_with('/')) {
    try {
      return Pointer(std::string(path));
    } catch (const json::exception&) {
      throw InputError(
          fmt::format("--set {}: not a JSON pointer; write it like /queue_pair/receive_depth", path));
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

void set_field(nlohmann::json& document, const nlohmann::json::json_pointer& field, nlohmann::json value,
               const std::string& option, Problems& problems) {
  const json* const schema = field.empty() ? nullptr : schema_of(field);
  const json* const parent = field.empty() ? nullptr : schema_of(field.parent_pointer());
  problems.set_by_option(field.to_string(), option);
  if (schema == nullptr || (!parent->contains("properties") && !parent->contains("additionalProperties"))) {
    problems.add(field.to_string(),
                 field.empty() ? "no field is named; write --set path=value" : unknown_field(field));
    return;
  }
  if (!parents_are_objects(document, field)) {
    problems.add(field.to_string(), "can't be set: an object on the way to it was given another value");
    return;
  }
  if (value.is_null()) {
    if (document.contains(field)) {
      document.at(field.parent_pointer()).erase(field.back());
    }
    return;
  }
  document[field] = std::move(value);
}

void apply_override(nlohmann::json& document, const std::string& option, Problems& problems) {
  const std::size_t equals = option.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw InputError(
        fmt::format("--set {}: not of the form path=value, for example queue_pair.receive_depth=32", option));
  }
  const Pointer field = field_pointer(std::string_view(option).substr(0, equals));
  const std::string text = option.substr(equals + 1);
  json value = json::parse(text, nullptr, false);
  const json* const schema = field.empty() ? nullptr : schema_of(field);
  const bool is_text = schema != nullptr && schema->value("type", "") == "string" && !value.is_null();
  if (value.is_discarded() || (is_text && !value.is_string())) {
    value = text;
  }
  set_field(document, field, std::move(value), "--set " + option, problems);
}

std::vector<std::uint32_t> parse_client_list(std::string_view text) {
  std::vector<std::uint32_t> clients;
  const char* position = text.data();
  const char* const end = text.data() + text.size();
  while (true) {
    std::uint32_t count = 0;
    const auto [after, error] = std::from_chars(position, end, count);
    if (error != std::errc{} || count == 0 || (after != end && *after != ',')) {
      throw InputError(fmt::format(
          "--clients {}: allowed: numbers from 1 to 4096 with commas between them, for example 1,2,4", text));
    }
    clients.push_back(count);
    if (after == end) {
      return clients;
    }
    position = after + 1;
  }
}

}  // namespace rkv
