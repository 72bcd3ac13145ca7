// What a measurement says of itself: on the terminal, in the profile, and in the file beside it. Pure;
// thread-safe.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "calibration/measure/findings.hpp"
#include "calibration/measure/machine.hpp"
#include "calibration/measure/probe.hpp"
#include "core/report/run_info.hpp"

namespace rkv::calibration {

// Where and how it was measured.
struct Circumstances {
  RunInfo run;
  MachineFacts machine;
  nlohmann::json device;  // VerbsDevice::describe()
  std::string base;       // the profile that fields were left as in
  Selection selection;
  bool quick = false;
};

// A table of figures, then what Linux told, then what was left and why.
[[nodiscard]] std::string table_of(const Findings& findings, const Circumstances& circumstances);

// The profile's text, which the loader reads without this program.
[[nodiscard]] std::string profile_text(const Findings& findings, const Circumstances& circumstances);

// All figures, with spread and number of repetitions.
[[nodiscard]] std::string measurements_text(const Findings& findings, const Circumstances& circumstances);

}  // namespace rkv::calibration
