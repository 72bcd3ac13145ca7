#include "calibration/curves/report_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "calibration/curves/limits.hpp"
#include "core/error.hpp"
#include "core/report/report.hpp"
#include "core/scenario/names.hpp"

namespace rkv::calibration {
namespace {

using nlohmann::json;

// A report's members, by JSON pointer; a complaint names file and pointer.
class Document {
 public:
  explicit Document(const std::filesystem::path& path) : source_(path.string()) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) {
      throw InputError(
          fmt::format("{}: there is no such file; give the report.json of a run, or its directory", source_));
    }
    std::ifstream file(path, std::ios::binary);
    try {
      json_ = json::parse(file);
    } catch (const json::exception& wrong) {
      throw InputError(fmt::format("{}: /: not valid JSON: {}", source_, wrong.what()));
    }
  }

  [[nodiscard]] const std::string& source() const { return source_; }

  [[noreturn]] void refuse(const std::string& pointer, std::string_view why) const {
    throw InputError(fmt::format("{}: {}: {}", source_, pointer, why));
  }

  [[nodiscard]] bool has(const std::string& pointer) const {
    return json_.contains(json::json_pointer(pointer));
  }

  [[nodiscard]] const json& at(const std::string& pointer) const {
    if (!has(pointer)) {
      refuse(pointer, "missing; is this a report of rkv-real or rkv-sim?");
    }
    return json_.at(json::json_pointer(pointer));
  }

  [[nodiscard]] double number(const std::string& pointer) const {
    const json& value = at(pointer);
    if (!value.is_number() || value.get<double>() < 0) {
      refuse(pointer, "not a number from 0 on");
    }
    return value.get<double>();
  }

  template <typename Enum>
  [[nodiscard]] std::string word(const std::string& pointer) const {
    const json& value = at(pointer);
    for (const auto& [meaning, name] : EnumNames<Enum>::values) {
      if (value == name) {
        return std::string(name);
      }
    }
    refuse(pointer, "this word is not known here");
  }

 private:
  std::string source_;
  json json_;
};

std::uint32_t outstanding_of(const Document& report) {
  const std::string arrivals = "/scenario/load/arrivals/kind";
  if (report.has(arrivals) && report.word<Arrivals::Kind>(arrivals) != "closed") {
    return 0;
  }
  const std::string window = "/scenario/load/window";
  return report.has(window) ? static_cast<std::uint32_t>(std::clamp(report.number(window), 1.0, 65536.0)) : 1;
}

class PointReader {
 public:
  PointReader(const Document& report, std::string at, ReportPoints& into)
      : report_(report), at_(std::move(at)), into_(into) {
    point_.transport = report.word<Transport>("/scenario/transport");
    point_.completion = report.word<CompletionMode>("/scenario/completion/mode");
    const double clients = report.number(at_ + "/clients");
    if (clients < 1 || clients > 65536 || !report.at(at_ + "/clients").is_number_integer()) {
      report.refuse(at_ + "/clients", "not a whole number from 1 to 65536");
    }
    point_.clients = static_cast<std::uint32_t>(clients);
  }

  [[nodiscard]] std::uint32_t clients() const { return point_.clients; }

  // False: it has nothing to compare.
  bool read() {
    if (report_.at(at_ + "/partial") != false) {
      warn("ended early");
      return false;
    }
    const double operations = report_.number(at_ + "/operations");
    const double throughput = report_.number(at_ + "/throughput_ops_s");
    if (operations == 0 || throughput == 0 || report_.at(at_ + "/latency_us").is_null()) {
      warn("measured nothing");
      return false;
    }
    add("throughput_ops_s", throughput, "/throughput_ops_s");
    if (report_.has(at_ + "/other_way")) {
      const std::string member = "/other_way/throughput_ops_s";
      add("throughput_both_ways_ops_s", throughput + report_.number(at_ + member), member);
    }
    for (const char* name : {"mean", "p50", "p95", "p99"}) {
      const std::string member = fmt::format("/latency_us/{}", name);
      add(fmt::format("latency_{}_us", name), report_.number(at_ + member), member);
    }
    const double served = std::max(operations, report_.number(at_ + "/server_work/requests_served"));
    for (const char* side : {"server", "client"}) {
      const std::string member = fmt::format("/{}", side);
      const double switches = report_.number(at_ + member + "/voluntary_context_switches") +
                              report_.number(at_ + member + "/involuntary_context_switches");
      add(fmt::format("{}_context_switches_op", side), switches / served, member);
    }
    return true;
  }

 private:
  void warn(std::string_view why) {
    into_.warnings.push_back(fmt::format("{}: {}: the point at clients = {} {}; it is left out",
                                         report_.source(), at_, point_.clients, why));
  }

  void add(std::string metric, double value, const std::string& member) {
    if (const std::string why = value_problem(metric, value); !why.empty()) {
      report_.refuse(at_ + member, why);
    }
    point_.metric = std::move(metric);
    point_.value = value;
    into_.points.push_back(point_);
  }

  const Document& report_;
  std::string at_;
  ReportPoints& into_;
  Point point_;
};

}  // namespace

ReportPoints read_report_points(const std::filesystem::path& path) {
  const Document report(path);
  if (report.number("/schema_version") != report_schema_version) {
    report.refuse(
        "/schema_version",
        fmt::format("this program reads version {}; use the rkv-calibrate of the version that wrote it",
                    report_schema_version));
  }
  if (!report.at("/points").is_array()) {
    report.refuse("/points", "not a list");
  }
  ReportPoints result;
  result.source = report.source();
  result.outstanding = outstanding_of(report);
  std::set<std::uint32_t> seen;
  for (std::size_t index = 0; index < report.at("/points").size(); ++index) {
    const std::string at = fmt::format("/points/{}", index);
    PointReader point(report, at, result);
    if (point.read() && !seen.insert(point.clients()).second) {
      report.refuse(at + "/clients",
                    fmt::format("a second point at clients = {}; take one of them out", point.clients()));
    }
  }
  if (result.points.empty()) {
    report.refuse("/points", "no complete point that measured something; let the run come to its end");
  }
  return result;
}

}  // namespace rkv::calibration
