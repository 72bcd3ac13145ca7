#include "core/scenario/load.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "core/document/document.hpp"
#include "core/document/name.hpp"
#include "core/document/problems.hpp"
#include "core/error.hpp"
#include "core/scenario/applicability.hpp"
#include "core/scenario/check.hpp"
#include "core/scenario/fields.hpp"
#include "core/scenario/overrides.hpp"
#include "core/scenario/presets.hpp"
#include "core/scenario/schema.hpp"
#include "core/scenario/sweep.hpp"

namespace rkv {
namespace {

using nlohmann::json;

constexpr DocumentKind scenario_kind{"scenario", "scenarios/"};

// One document without a sweep to a scenario; throws what is in `problems` and what is found.
Scenario resolve(const json& given, Problems problems) {
  scenario_schema().check(given, problems);
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
  json document = read_document(file, scenario_kind);
  Problems problems(file.string());
  for (const std::string& text : overrides) {
    if (auto given = parse_override(scenario_schema(), text, set_option, problems)) {
      put_field(document, std::move(*given), problems);
    }
  }
  if (!clients.empty()) {
    document["clients"] = clients;
    problems.set_by_option("/clients", "--clients");
  }
  return expand_document(std::move(document), problems, name_from(file.stem().string(), "scenario"));
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
