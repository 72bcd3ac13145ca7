#include "calibration/simulate/scenario_set.hpp"

#include <fmt/format.h>

#include <iterator>
#include <sstream>

#include "core/error.hpp"
#include "core/scenario/load.hpp"
#include "core/scenario/names.hpp"

namespace rkv::calibration {
namespace {

std::vector<std::string> endings(const std::string& completion) {
  if (completion == "busy") return {"nonblocking", "busy"};
  if (completion == "event") return {"blocking", "event"};
  return {completion};
}

}  // namespace

ScenarioSet::ScenarioSet(std::filesystem::path folder, std::vector<std::string> overrides)
    : folder_(std::move(folder)), overrides_(std::move(overrides)) {
  if (!std::filesystem::is_directory(folder_)) {
    throw InputError(fmt::format("--scenario-dir {}: there is no such folder", folder_.string()));
  }
}

const Scenario& ScenarioSet::with_fields(const std::string& text) {
  const auto key = std::pair(std::string(), text);
  if (const auto known = loaded_.find(key); known != loaded_.end()) return known->second;
  std::istringstream words(text);
  std::string name;
  words >> name;
  std::vector<std::string> overrides(std::istream_iterator<std::string>(words), {});
  overrides.insert(overrides.end(), overrides_.begin(), overrides_.end());
  const std::filesystem::path file = folder_ / (name + ".json");
  if (name.find('/') != std::string::npos || !std::filesystem::exists(file)) {
    throw InputError(fmt::format("scenario \"{}\": there is no {}", text, file.string()));
  }
  return loaded_.emplace(key, load_scenario(file, overrides)).first->second;
}

const Scenario& ScenarioSet::of(const std::string& transport, const std::string& completion,
                                const std::string& scenario) {
  if (!scenario.empty()) {
    const Scenario& meant = with_fields(scenario);
    if (name_of(meant.transport) != transport || name_of(meant.completion.mode) != completion) {
      throw InputError(fmt::format(
          "scenario \"{}\" is over {} with completion {}; its line says transport {}, completion {}",
          scenario, name_of(meant.transport), name_of(meant.completion.mode), transport, completion));
    }
    return meant;
  }
  const auto key = std::pair(transport, completion);
  if (const auto known = loaded_.find(key); known != loaded_.end()) return known->second;
  std::string tried;
  for (const std::string& ending : endings(completion)) {
    const std::string name = fmt::format("{}_{}.json", transport, ending);
    if (std::filesystem::exists(folder_ / name)) {
      return loaded_.emplace(key, load_scenario(folder_ / name, overrides_)).first->second;
    }
    tried += (tried.empty() ? "" : " or ") + name;
  }
  throw InputError(fmt::format("--scenario-dir {}: no scenario for {} with completion {}: {} is missing",
                               folder_.string(), transport, completion, tried));
}

}  // namespace rkv::calibration
