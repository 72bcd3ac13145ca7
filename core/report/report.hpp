// The report of a run: what was run, on what, and what came out, point by point. Written as report.json by
// run_directory.hpp; its fields are documented in docs/report.md and core/report/report.schema.json.
// Both backends write the same report. Plain data; copy it freely.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/report/result.hpp"

namespace rkv {

// Raised whenever a reader of an older report would misread a newer one.
inline constexpr int report_schema_version = 1;

struct Report {
  enum class Backend : std::uint8_t { real, sim };

  Backend backend = Backend::real;
  std::string program_version;  // core/report/version.hpp
  nlohmann::json scenario;      // resolved: with all defaults and overrides
  std::uint64_t seed = 0;
  // A simulator's reports are byte-identical for the same seed, so they leave out start_time, command_line
  // (empty), machine and device (null): run_info.hpp has these. They have a profile instead.
  std::optional<std::chrono::sys_seconds> start_time;
  std::vector<std::string> command_line;
  nlohmann::json machine;  // core/report/machine.hpp
  // name, provider, gid, link_layer, mtu_bytes, soft, as far as the backend knows them; {} for kernel TCP.
  nlohmann::json device = nlohmann::json::object();
  nlohmann::json profile;  // the simulated machines; null: none
  std::vector<PointResult> points;
};

// The file that holds the latency distribution of points[index]: latency_<clients>.hgrm; a second point with
// as many clients has latency_<clients>-2.hgrm.
[[nodiscard]] std::string histogram_file(const std::vector<PointResult>& points, std::size_t index);

// The document that report.json is. Its member order is the order of reading.
[[nodiscard]] nlohmann::ordered_json report_json(const Report& report);

// One line a point, with a header; latencies in microseconds.
[[nodiscard]] std::string summary_csv(const std::vector<PointResult>& points);

}  // namespace rkv
