// Measured or predicted points of scalability curves, and the CSV files that hold them:
//
//   transport,completion,clients,metric,value[,spread][,scenario]
//
// `scenario` is for points that differ in more than the number of clients: a scenario file's name and fields
// of it with other values, as in "rc_random_reads load.window=8 verbs.queue_pairs=50". One line a value;
// columns in any order, others are ignored. `value` may be empty where a file only names points (predict). A
// curve is all points of one transport, completion, scenario and metric.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rkv::calibration {

struct Point {
  std::string transport;   // tcp, rc, uc, ud
  std::string completion;  // as a scenario's completion.mode: busy, event, adaptive, ...
  std::uint32_t clients = 0;
  std::string metric;  // one of metrics()
  std::optional<double> value;
  std::optional<double> spread;  // standard deviation of the value, in its unit
  std::string scenario = {};     // empty: the one for transport and completion (simulate/scenario_set.hpp)
  std::size_t line = 0;          // in its file, the first is 1; the first of those that were averaged
};

// The operations' latency that a share of them stay below.
struct Percentile {
  std::string_view metric;
  double share_below;
};
// In ascending order: latency_p25_us, latency_p50_us, latency_p75_us, latency_p95_us, latency_p99_us.
[[nodiscard]] std::span<const Percentile> percentiles();

// throughput_ops_s, throughput_both_ways_ops_s (of workload verbs with both_ways: the sum of both ways),
// latency_mean_us, those of percentiles(), server_context_switches_op, client_context_switches_op
[[nodiscard]] const std::vector<std::string>& metrics();

struct PointFile {
  std::string source;  // its path
  std::vector<Point> points;
  std::vector<std::string> warnings;  // for the user, a sentence each
};

// Whether a line without a value is an error.
enum class Values { required, optional };

// Reads and checks a file. Lines of the same key and different values are replicates: averaged, with a
// warning; the spread is that of their values, or where spreads are given the root of the mean of their
// squares. Words may be in capital letters. Throws InputError (file:line) for a missing column, an unknown
// transport, completion or metric, a value that is no positive number (no number from 0 for context switches)
// or can't be in its unit (limits.hpp), values of a point that contradict each other (consistency.hpp), lines
// that occur twice, and files without points.
[[nodiscard]] PointFile read_points(const std::filesystem::path& path, Values values);

}  // namespace rkv::calibration
