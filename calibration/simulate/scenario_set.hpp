// Which scenario is meant by a curve's transport and completion: the files of one folder.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/scenario/scenario.hpp"

namespace rkv::calibration {

// Not thread-safe.
class ScenarioSet {
 public:
  // `overrides` (PATH=VALUE, as rkv-sim's --set) hold for every scenario.
  explicit ScenarioSet(std::filesystem::path folder, std::vector<std::string> overrides = {});

  // busy: TRANSPORT_nonblocking.json or, where there is none, TRANSPORT_busy.json; event:
  // TRANSPORT_blocking.json or TRANSPORT_event.json; others: TRANSPORT_COMPLETION.json. Throws InputError
  // when there is no such file or it is no good. The reference is valid as long as this.
  // `scenario`, where it is not empty: NAME [PATH=VALUE...], which is NAME.json with these fields; its
  // transport and completion have to be those.
  const Scenario& of(const std::string& transport, const std::string& completion,
                     const std::string& scenario = {});

 private:
  const Scenario& with_fields(const std::string& text);

  const std::filesystem::path folder_;
  const std::vector<std::string> overrides_;
  // By transport and completion, or by the scenario's text.
  std::map<std::pair<std::string, std::string>, Scenario> loaded_;
};

}  // namespace rkv::calibration
