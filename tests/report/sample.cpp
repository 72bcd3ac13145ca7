#include "tests/report/sample.hpp"

#include <random>

namespace rkv::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

ThreadUsage usage(std::uint64_t switches) {
  return {.voluntary_switches = switches,
          .involuntary_switches = 3,
          .cpu_time = milliseconds(500),
          .wall_time = seconds(2)};
}

}  // namespace

PointResult sample_point(std::uint32_t clients, std::uint64_t operations, std::uint32_t first_client) {
  PointResult point;
  point.clients = clients;
  for (std::uint32_t client = first_client; client < first_client + clients; ++client) {
    std::mt19937_64 random(client + 1000 * clients);
    Histogram latency;
    for (std::uint64_t i = 0; i < operations; ++i) {
      // The sum of four dice: one hump, cut off on both sides. mt19937_64's output is fixed by the standard.
      const auto dice = random() % 1000 + random() % 1000 + random() % 1000 + random() % 1000;
      const auto outlier = random() % 200 == 0 ? 20'000U : 0U;
      latency.record(Duration(4000 + dice * (1 + clients / 2) + outlier));
      const auto method = random() % 100 <= 5 ? Method::set : Method::get;
      const auto code =
          method == Method::get && random() % 100 < 94 ? ResponseCode::key_error : ResponseCode::ok;
      point.operations.add(method, code);
    }
    MeasuredWindow window;
    window.include(milliseconds(100) * client, milliseconds(100) * client + Duration(operations * 7000));
    point.window.merge(window);
    point.per_client.push_back(client_result(client, latency, window));
    point.latency.merge(latency);
    point.server.add(usage(operations));
    point.client.add(usage(2 * operations));
  }
  point.timeouts = 4;
  point.retries = 3;
  point.reconnections = 1;
  point.lost = 1;
  point.duplicates = 2;
  point.late_responses = 1;
  point.direct_gets = {.remembered = 900, .asked = 100, .stale = 7};
  point.server_replays = 3;
  point.server_work = {.served = clients * operations + 5,
                       .ignored = 1,
                       .rejected = 2,
                       .broken_sessions = 1,
                       .entries_walked = 3 * clients * operations,
                       .bytes_copied = 256 * clients * operations,
                       .store_entries = 18};
  point.injected_faults = {{"drop", 4}, {"duplicate", 2}};
  return point;
}

Report sample_report() {
  Report report;
  report.program_version = "0.1.0-sample";
  report.scenario = {{"name", "uc_sample"}, {"transport", "uc"}, {"completion", {{"mode", "busy"}}}};
  report.seed = 42;
  report.machine = {
      {"cpu_model", "Sample CPU"}, {"sockets", 1}, {"cores", 2}, {"threads", 2}, {"kernel", "Linux 6.1"},
      {"memory_bytes", 8589934592}};
  report.device = {{"name", "soft0"}, {"provider", "rkv soft RNIC"}, {"soft", true}};
  report.start_time = std::chrono::sys_days(std::chrono::year(2026) / 3 / 1) + std::chrono::hours(12);
  report.command_line = {"rkv-real", "scenarios/uc_sample.json"};
  for (const std::uint32_t clients : {1U, 2U, 4U}) {
    report.points.push_back(sample_point(clients, 300));
  }
  report.points.back().partial_reason = "interrupted by SIGINT";
  report.points.back().check_violations.add("client 2: GET \"Key from instance 2 count 7\": expected OK");
  return report;
}

}  // namespace rkv::test
