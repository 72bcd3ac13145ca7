#include "core/document/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace rkv {
namespace {

using nlohmann::json;
using Pointer = json::json_pointer;

// `part` with every "$ref" in it replaced by what it means in `whole`.
json resolved(const json& part, const json& whole) {
  if (!part.is_structured()) {
    return part;
  }
  json result = part;
  if (const auto reference = part.find("$ref"); part.is_object() && reference != part.end()) {
    result.erase("$ref");
    json meant = whole.at(Pointer(reference->get_ref<const std::string&>().substr(1)));
    meant.update(result);
    result = std::move(meant);
  }
  for (json& child : result) {
    child = resolved(child, whole);
  }
  return result;
}

json resolved_document(std::string_view text) {
  const json whole = json::parse(text);
  json document = resolved(whole, whole);
  document.erase("definitions");
  return document;
}

// The tokens of a pointer, outermost first.
std::vector<std::string> tokens(Pointer pointer) {
  std::vector<std::string> result;
  while (!pointer.empty()) {
    result.push_back(pointer.back());
    pointer.pop_back();
  }
  std::reverse(result.begin(), result.end());
  return result;
}

const json* step(const json& schema, const std::string& token) {
  if (const auto properties = schema.find("properties"); properties != schema.end()) {
    if (const auto found = properties->find(token); found != properties->end()) {
      return &*found;
    }
  }
  if (const auto others = schema.find("additionalProperties");
      others != schema.end() && others->is_object()) {
    return &*others;
  }
  if (const auto items = schema.find("items"); items != schema.end()) {
    return &*items;
  }
  if (const auto choices = schema.find("anyOf"); choices != schema.end()) {
    for (const json& choice : *choices) {
      if (const json* found = step(choice, token)) {
        return found;
      }
    }
  }
  return nullptr;
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

// Plain words for type and limits, without the description.
std::string limits(const json& schema) {
  if (const auto choices = schema.find("anyOf"); choices != schema.end()) {
    std::vector<std::string> words;
    for (const json& choice : *choices) {
      words.push_back(limits(choice));
    }
    return joined(words, ", or ");
  }
  if (const auto values = schema.find("enum"); values != schema.end()) {
    std::vector<std::string> words;
    for (const json& value : *values) {
      words.push_back(value.dump());
    }
    return joined(words, ", ");
  }
  const std::string type = schema.value("type", "");
  if (type == "integer" || type == "number") {
    std::string words = type == "integer" ? "a whole number" : "a number";
    if (schema.contains("exclusiveMinimum")) {
      words += fmt::format(" above {}", schema["exclusiveMinimum"].dump());
    } else if (schema.contains("minimum")) {
      words += fmt::format(" from {}", schema["minimum"].dump());
    }
    return schema.contains("exclusiveMaximum")
               ? words + fmt::format(" to below {}", schema["exclusiveMaximum"].dump())
               : words + fmt::format(" to {}", schema["maximum"].dump());
  }
  if (type == "boolean") {
    return "true or false";
  }
  if (type == "array") {
    std::string words = "a list";
    if (schema.contains("items")) {
      words += fmt::format(", each {}", limits(schema["items"]));
    }
    if (schema.contains("minItems")) {
      words += fmt::format(", {} at least", schema["minItems"].dump());
    }
    if (schema.contains("maxItems")) {
      words += fmt::format(", {} at most", schema["maxItems"].dump());
    }
    if (schema.value("uniqueItems", false)) {
      words += ", none twice";
    }
    return words;
  }
  if (type == "string") {
    return fmt::format("a text of {} to {} characters", schema.value("minLength", 0),
                       schema["maxLength"].dump());
  }
  return "an object";
}

std::string fields_of(const json& schema) {
  std::vector<std::string> names;
  for (const auto& [name, part] : schema["properties"].items()) {
    names.push_back(name);
  }
  return joined(names, ", ");
}

// Fields of an object that its schema doesn't have, and those that it misses.
void check_fields(const json& given, const json& part, const Pointer& pointer, Problems& problems) {
  for (const auto& [name, value] : given.items()) {
    if (!part["properties"].contains(name)) {
      problems.add((pointer / name).to_string(),
                   fmt::format("unknown field; allowed here: {}", fields_of(part)));
    }
  }
  for (const json& name : part.value("required", json::array())) {
    const auto& field = name.get_ref<const std::string&>();
    if (!given.contains(field)) {
      problems.add((pointer / field).to_string(),
                   fmt::format("missing; allowed: {}", allowed(part["properties"][field])));
    }
  }
}

bool below(const std::string& pointer, const std::string& ancestor) {
  return pointer.size() > ancestor.size() && pointer.starts_with(ancestor) && pointer[ancestor.size()] == '/';
}

}  // namespace

std::string shown(const nlohmann::json& value) {
  constexpr std::size_t longest = 80;
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > longest) {
    text.resize(longest);
    text += "...";
  }
  return text;
}

Schema::Schema(std::string_view text) : document_(resolved_document(text)), validator_(document_) {}

const nlohmann::json* Schema::at(const nlohmann::json::json_pointer& field) const {
  const json* part = &document_;
  for (const std::string& token : tokens(field)) {
    part = step(*part, token);
    if (part == nullptr) {
      return nullptr;
    }
  }
  return part;
}

std::string allowed(const nlohmann::json& schema_part) {
  std::string words = limits(schema_part);
  if (const auto text = schema_part.find("description"); text != schema_part.end()) {
    words += fmt::format(" ({})", text->get<std::string>());
  }
  return words;
}

void Schema::check(const nlohmann::json& document, Problems& problems) const {
  const std::vector<Refusal> refusals = validator_.refusals(document);
  std::set<std::string> places;
  for (const Refusal& refusal : refusals) {
    places.insert(refusal.pointer);
  }
  const std::size_t before = problems.all().size();
  for (const std::string& place : places) {
    const Pointer pointer(place);
    const json& given = document.at(pointer);
    const json* const part = at(pointer);
    if (part != nullptr && given.is_object() && part->contains("properties")) {
      check_fields(given, *part, pointer, problems);
      continue;
    }
    // Validators also blame a list or object for what is wrong inside it: the innermost place is enough.
    const bool blamed_for_inner =
        std::any_of(places.begin(), places.end(), [&](const auto& other) { return below(other, place); });
    if (part != nullptr && !blamed_for_inner) {
      problems.add(place, fmt::format("given {}; allowed: {}", shown(given), allowed(*part)));
    }
  }
  if (!refusals.empty() &&
      problems.all().size() == before) {  // a refusal is never dropped, wherever it stands
    for (const Refusal& refusal : refusals) {
      problems.add(refusal.pointer, refusal.text);
    }
  }
}

}  // namespace rkv
