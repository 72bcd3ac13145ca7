// What is true of one run of a program only, whatever it measured: when, where and for how long it ran.
// Written as run_info.json beside report.json, so that a simulator's reports are byte-identical for the same
// seed. Plain data; copy it freely.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rkv {

struct RunInfo {
  std::string host_name;
  std::chrono::sys_seconds start_time;
  std::chrono::steady_clock::time_point started;  // the same moment; wall time counts from it
  std::string program_version;                    // core/report/version.hpp
  std::vector<std::string> command_line;
  nlohmann::json machine;  // core/report/machine.hpp: the one that ran the program, in a simulation too
};

// Of this program on this machine, starting now.
[[nodiscard]] RunInfo this_run(std::vector<std::string> command_line);

// The document that run_info.json is; docs/report.md explains it. Its wall time ends now.
[[nodiscard]] nlohmann::ordered_json run_info_json(const RunInfo& run);

// UTC, ISO 8601: 2026-03-01T12:00:00Z.
[[nodiscard]] std::string utc_text(std::chrono::sys_seconds time);

}  // namespace rkv
