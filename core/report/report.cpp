#include "core/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/measure/box_plot.hpp"
#include "core/report/run_info.hpp"

namespace rkv {
namespace {

using nlohmann::ordered_json;

double microseconds(double time_ns) {
  return time_ns / 1000.0;
}
double microseconds(std::uint64_t time_ns) {
  return static_cast<double>(time_ns) / 1000.0;
}

struct Percentile {
  std::string_view name;
  double quantile;
};
constexpr Percentile percentiles[] = {{"p25", 0.25}, {"p50", 0.5},  {"p75", 0.75},  {"p90", 0.9},
                                      {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}};

// null when nothing was measured: a latency of 0 would be an invented one.
ordered_json latency_json(const Histogram& latency) {
  if (latency.empty()) {
    return nullptr;
  }
  ordered_json json{{"mean", microseconds(latency.mean_ns())},
                    {"stddev", microseconds(latency.stddev_ns())},
                    {"min", microseconds(latency.min_ns())}};
  for (const auto& [name, quantile] : percentiles) {
    json[std::string(name)] = microseconds(latency.quantile_ns(quantile));
  }
  const auto box = box_plot(latency);
  json["max"] = microseconds(latency.max_ns());
  json["whisker_low"] = microseconds(box.whisker_low_ns);
  json["whisker_high"] = microseconds(box.whisker_high_ns);
  return json;
}

ordered_json operations_json(const OperationCounts& operations) {
  ordered_json json = ordered_json::object();
  for (const auto method : OperationCounts::methods) {
    for (std::uint32_t code = 0; code < response_code_count; ++code) {
      if (const auto count = operations.of(method, ResponseCode{static_cast<std::uint8_t>(code)});
          count != 0) {
        json[std::string(name(method))][std::string(name(ResponseCode{static_cast<std::uint8_t>(code)}))] =
            count;
      }
    }
  }
  return json;
}

ordered_json side_json(const SideUsage& side) {
  return {{"threads", side.threads},
          {"voluntary_context_switches", side.voluntary_switches},
          {"involuntary_context_switches", side.involuntary_switches},
          {"cpu_time_s", in_seconds(side.cpu_time)},
          {"thread_wall_time_s", in_seconds(side.thread_wall_time)},
          {"utilisation", side.utilisation()}};
}

ordered_json work_json(const ServerWork& work) {
  return {{"requests_served", work.served},        {"repeats_ignored", work.ignored},
          {"messages_rejected", work.rejected},    {"sessions_broken", work.broken_sessions},
          {"entries_walked", work.entries_walked}, {"bytes_copied", work.bytes_copied},
          {"store_entries", work.store_entries}};
}

ordered_json clients_json(const std::vector<ClientResult>& clients) {
  ordered_json json = ordered_json::array();
  for (const auto& client : clients) {
    json.push_back({{"client", client.client},
                    {"operations", client.operations},
                    {"throughput_ops_s", client.throughput_ops_s},
                    {"latency_mean_us", microseconds(client.latency_mean_ns)},
                    {"latency_p99_us", microseconds(client.latency_p99_ns)}});
  }
  return json;
}

ordered_json point_json(const PointResult& point, const std::string& histogram_file_name) {
  const auto fair = fairness(point.per_client);
  ordered_json json{{"clients", point.clients}, {"partial", point.partial()}};
  if (point.partial()) {
    json["partial_reason"] = point.partial_reason;
  }
  if (point.sampling) {
    json["sampling"] = {{"windows", point.sampling->windows},
                        {"operations", point.sampling->operations},
                        {"simulated_s", point.sampling->simulated_s}};
  }
  json["operations"] = point.operations.total();
  json["measured_s"] = in_seconds(point.window.length());
  json["throughput_ops_s"] = point.throughput_ops_s();
  json["latency_us"] = latency_json(point.latency);
  json["latencies_out_of_range"] = point.latency.out_of_range();
  json["histogram_file"] = histogram_file_name;
  if (!point.trace_file.empty()) {
    json["trace_file"] = point.trace_file;
    json["trace_overflow"] = point.trace_overflow;
  }
  json["operations_by_result"] = operations_json(point.operations);
  json["fairness"] = {
      {"jain_index", fair.jain_index}, {"min_share", fair.min_share}, {"max_share", fair.max_share}};
  json["timeouts"] = point.timeouts;
  json["retries"] = point.retries;
  if (point.reconnections > 0) {
    json["reconnections"] = point.reconnections;
  }
  json["lost"] = point.lost;
  json["duplicates"] = point.duplicates;
  json["late_responses"] = point.late_responses;
  if (point.direct_gets != DirectGetCounts{}) {
    json["direct_gets"] = {{"remembered", point.direct_gets.remembered},
                           {"asked", point.direct_gets.asked},
                           {"stale", point.direct_gets.stale}};
  }
  json["server_replays"] = point.server_replays;
  json["check_violations"] = {{"count", point.check_violations.count},
                              {"texts", point.check_violations.texts}};
  json["server_work"] = work_json(point.server_work);
  json["server"] = side_json(point.server);
  json["client"] = side_json(point.client);
  if (point.other_way) {
    json["other_way"] = {{"operations", point.other_way->operations},
                         {"measured_s", in_seconds(point.other_way->measured)},
                         {"throughput_ops_s", point.other_way->throughput_ops_s()}};
  }
  json["injected_faults"] = point.injected_faults;
  if (!point.time_spent_ns.empty()) {
    json["time_spent_ns"] = point.time_spent_ns;
  }
  json["per_client"] = clients_json(point.per_client);
  return json;
}

constexpr std::string_view summary_header =
    "clients,partial,operations,measured_s,throughput_ops_s,"
    "latency_mean_us,latency_stddev_us,latency_min_us,latency_p25_us,latency_p50_us,latency_p75_us,"
    "latency_p90_us,latency_p95_us,latency_p99_us,latency_p999_us,latency_max_us,"
    "jain_index,timeouts,retries,lost,duplicates,late_responses,server_replays,check_violations,"
    "server_threads,server_voluntary_switches,server_involuntary_switches,server_cpu_time_s,"
    "server_utilisation,"
    "client_threads,client_voluntary_switches,client_involuntary_switches,client_cpu_time_s,"
    "client_utilisation\n";

std::string side_csv(const SideUsage& side) {
  return fmt::format(",{},{},{},{:.6f},{:.4f}", side.threads, side.voluntary_switches,
                     side.involuntary_switches, in_seconds(side.cpu_time), side.utilisation());
}

// Empty cells when nothing was measured.
std::string latency_csv(const Histogram& latency) {
  if (latency.empty()) {
    return std::string(3 + std::size(percentiles) + 1, ',');
  }
  auto csv = fmt::format(",{:.3f},{:.3f},{:.3f}", microseconds(latency.mean_ns()),
                         microseconds(latency.stddev_ns()), microseconds(latency.min_ns()));
  for (const auto& percentile : percentiles) {
    csv += fmt::format(",{:.3f}", microseconds(latency.quantile_ns(percentile.quantile)));
  }
  return csv + fmt::format(",{:.3f}", microseconds(latency.max_ns()));
}

}  // namespace

std::string histogram_file(const std::vector<PointResult>& points, std::size_t index) {
  const auto clients = points.at(index).clients;
  const auto here = points.begin() + static_cast<std::ptrdiff_t>(index);
  const auto before =
      std::count_if(points.begin(), here, [&](const PointResult& point) { return point.clients == clients; });
  return before == 0 ? fmt::format("latency_{}.hgrm", clients)
                     : fmt::format("latency_{}-{}.hgrm", clients, before + 1);
}

nlohmann::ordered_json report_json(const Report& report) {
  ordered_json json{{"schema_version", report_schema_version},
                    {"backend", report.backend == Report::Backend::real ? "real" : "sim"},
                    {"program_version", report.program_version}};
  if (report.start_time) {
    json["start_time"] = utc_text(*report.start_time);
  }
  if (!report.command_line.empty()) {
    json["command_line"] = report.command_line;
  }
  json["seed"] = report.seed;
  for (const auto& [name, described] :
       {std::pair{"machine", &report.machine}, {"device", &report.device}, {"profile", &report.profile}}) {
    if (!described->is_null()) {
      json[name] = *described;
    }
  }
  json["scenario"] = report.scenario;
  json["points"] = ordered_json::array();
  for (std::size_t index = 0; index < report.points.size(); ++index) {
    json["points"].push_back(point_json(report.points[index], histogram_file(report.points, index)));
  }
  return json;
}

std::string summary_csv(const std::vector<PointResult>& points) {
  std::string csv(summary_header);
  for (const auto& point : points) {
    csv += fmt::format("{},{},{},{:.6f},{:.3f}", point.clients, point.partial() ? 1 : 0,
                       point.operations.total(), in_seconds(point.window.length()), point.throughput_ops_s());
    csv += latency_csv(point.latency);
    csv += fmt::format(",{:.6f},{},{},{},{},{},{},{}", fairness(point.per_client).jain_index, point.timeouts,
                       point.retries, point.lost, point.duplicates, point.late_responses,
                       point.server_replays, point.check_violations.count);
    csv += side_csv(point.server) + side_csv(point.client) + "\n";
  }
  return csv;
}

}  // namespace rkv
