#include "core/scenario/load.hpp"

#include <fmt/format.h>

#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "core/error.hpp"
#include "core/scenario/applicability.hpp"
#include "core/scenario/check.hpp"
#include "core/scenario/document.hpp"
#include "core/scenario/fields.hpp"
#include "core/scenario/overrides.hpp"
#include "core/scenario/presets.hpp"
#include "core/scenario/problems.hpp"
#include "core/scenario/schema.hpp"
#include "core/scenario/sweep.hpp"

namespace rkv {
namespace {

using nlohmann::json;

std::string read_text(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    throw InputError(fmt::format("{}: no such scenario file; the ones that come with rkv are in scenarios/",
                                 file.string()));
  }
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) {
    throw InputError(
        fmt::format("{}: the scenario file can't be read; check its permissions", file.string()));
  }
  return std::move(text).str();
}

// A name that the schema allows, from a file's name.
std::string name_from(const std::string& stem) {
  std::string name;
  for (const char c : stem) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    name += plain || ((c == '.' || c == '_' || c == '=' || c == '-') && !name.empty()) ? c : '_';
  }
  return name.empty() || name.front() == '_' ? "scenario" + name : name;
}

// One document without a sweep to a scenario; throws what is in `problems` and what is found.
Scenario resolve(const json& given, Problems problems) {
  check_schema(given, problems);
  problems.throw_if_any();
  json document = apply_preset(given, problems);
  check_exchange(document, problems);
  problems.throw_if_any();
  Scenario scenario = read_fields(document);
  if (given.contains("preset")) {  // what it set for a choice that the document has changed is not wanted
    remove_inapplicable(scenario, document);
    scenario = read_fields(document);
  }
  check_applicable(scenario, given, problems);
  check_scenario(scenario, problems);
  problems.throw_if_any();
  return scenario;
}

std::vector<Scenario> expand_document(json document, const Problems& problems,
                                      const std::string& default_name) {
  normalise_numbers(document);
  std::vector<Scenario> scenarios;
  for (SweepMember& member : expand_sweep(document, problems)) {
    const auto name = member.document.find("name");
    if (name == member.document.end()) {
      member.document["name"] = default_name + member.suffix;
    } else if (name->is_string()) {
      *name = name->get<std::string>() + member.suffix;
    }
    scenarios.push_back(resolve(member.document, std::move(member.problems)));
  }
  return scenarios;
}

}  // namespace

std::vector<Scenario> expand(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                             const std::vector<std::uint32_t>& clients) {
  const std::string source = file.string();
  json document = parse_document(read_text(file), source);
  Problems problems(source);
  for (const std::string& option : overrides) {
    apply_override(document, option, problems);
  }
  if (!clients.empty()) {
    document["clients"] = clients;
    problems.set_by_option("/clients", "--clients");
  }
  return expand_document(std::move(document), problems, name_from(file.stem().string()));
}

Scenario load_scenario(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                       const std::vector<std::uint32_t>& clients) {
  std::vector<Scenario> scenarios = expand(file, overrides, clients);
  if (scenarios.size() != 1) {
    throw InputError(
        fmt::format("{}: /sweep: makes {} scenarios where one is needed; remove it (--set sweep=null)",
                    file.string(), scenarios.size()));
  }
  return std::move(scenarios.front());
}

Scenario parse_scenario(std::string_view json_text, const std::string& source) {
  json document = parse_document(json_text, source);
  Problems problems(source);
  if (document.contains("sweep")) {
    problems.add("/sweep", "not allowed here: one scenario is needed");
  }
  document.erase("sweep");
  return std::move(expand_document(std::move(document), problems, "scenario").front());
}

nlohmann::json to_json(const Scenario& scenario) {
  json document = write_fields(scenario);
  if (scenario.load.total_operations == 0) {
    document["load"].erase("total_operations");
  }
  if (scenario.load.duration.count() == 0) {
    document["load"].erase("duration_s");
  }
  remove_inapplicable(scenario, document);
  return document;
}

void validate(const Scenario& scenario, const std::string& source) {
  parse_scenario(to_json(scenario).dump(), source);
}

}  // namespace rkv
