#include "core/scenario/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "core/scenario/schema_validator.hpp"

namespace rkv {
namespace {

using nlohmann::json;
using Pointer = json::json_pointer;

const json& schema_document() {
  static const json document = json::parse(scenario_schema_text());
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
    return words + fmt::format(" to {}", schema["maximum"].dump());
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

const nlohmann::json* schema_of(const nlohmann::json::json_pointer& field) {
  const json* part = &schema_document();
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

void check_schema(const nlohmann::json& document, Problems& problems) {
  const std::vector<Refusal> refusals = refusals_by_schema(document);
  std::set<std::string> places;
  for (const Refusal& refusal : refusals) {
    places.insert(refusal.pointer);
  }
  const std::size_t before = problems.all().size();
  for (const std::string& place : places) {
    const Pointer pointer(place);
    const json& given = document.at(pointer);
    const json* const part = schema_of(pointer);
    if (part != nullptr && given.is_object() && part->contains("properties")) {
      for (const auto& [name, value] : given.items()) {
        if (!(*part)["properties"].contains(name)) {
          problems.add((pointer / name).to_string(),
                       fmt::format("unknown field; allowed here: {}", fields_of(*part)));
        }
      }
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
