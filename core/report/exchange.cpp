#include "core/report/exchange.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace rkv {
namespace {

using Json = nlohmann::json;

constexpr std::size_t most_clients = 65536;
constexpr std::size_t most_names = 64;
constexpr std::size_t most_text_bytes = 1024;
// Sums of many such times still fit 64 bits with a sign. 2^53 ns are 104 days.
constexpr std::int64_t longest_time_ns = std::int64_t{1} << 53;
constexpr std::int64_t latest_instant_ns = std::int64_t{1} << 62;
// Of a rate or a mean: sums of many squares of it are still finite.
constexpr double largest_number = 1e15;

[[noreturn]] void refuse(std::string_view where, std::string_view what) {
  throw Error(fmt::format("a client process sent a result that is not valid: {}: {}", where, what));
}

bool is_count(const Json& value) {
  return value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
}

// Reads the members of one object; every getter names the member in its error.
class Reader {
 public:
  Reader(const Json& object, std::string_view where) : object_(object), where_(where) {
    if (!object.is_object()) {
      refuse(where, "is not an object");
    }
  }

  [[nodiscard]] const Json& member(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) {
      refuse(fmt::format("{}/{}", where_, name), "is missing");
    }
    return *found;
  }

  [[nodiscard]] std::uint64_t count(const char* name,
                                    std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const {
    const auto& value = member(name);
    if (!is_count(value) || value.get<std::uint64_t>() > most) {
      refuse(fmt::format("{}/{}", where_, name), fmt::format("is not a whole number from 0 to {}", most));
    }
    return value.get<std::uint64_t>();
  }

  [[nodiscard]] std::uint32_t count32(const char* name) const {
    return static_cast<std::uint32_t>(count(name, std::numeric_limits<std::uint32_t>::max()));
  }

  [[nodiscard]] std::chrono::nanoseconds time(const char* name, std::int64_t most_ns) const {
    return std::chrono::nanoseconds(
        static_cast<std::int64_t>(count(name, static_cast<std::uint64_t>(most_ns))));
  }

  [[nodiscard]] double positive(const char* name) const {
    const auto& value = member(name);
    // Written so that something that is no number (NaN) fails too.
    if (!value.is_number() || !(value.get<double>() >= 0 && value.get<double>() <= largest_number)) {
      refuse(fmt::format("{}/{}", where_, name), fmt::format("is not a number from 0 to {}", largest_number));
    }
    return value.get<double>();
  }

  [[nodiscard]] std::string text(const char* name) const {
    const auto& value = member(name);
    if (!value.is_string() || value.get_ref<const std::string&>().size() > most_text_bytes) {
      refuse(fmt::format("{}/{}", where_, name),
             fmt::format("is not a text of at most {} bytes", most_text_bytes));
    }
    return value.get<std::string>();
  }

  [[nodiscard]] const Json& list(const char* name, std::size_t most) const {
    const auto& value = member(name);
    if (!value.is_array() || value.size() > most) {
      refuse(fmt::format("{}/{}", where_, name), fmt::format("is not a list of at most {}", most));
    }
    return value;
  }

 private:
  const Json& object_;
  std::string where_;
};

// One row a method in the order of OperationCounts::methods, one column a response code.
Json operations_to_json(const OperationCounts& operations) {
  auto rows = Json::array();
  for (const auto method : OperationCounts::methods) {
    auto row = Json::array();
    for (std::uint8_t code = 0; code < response_code_count; ++code) {
      row.push_back(operations.of(method, ResponseCode{code}));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

OperationCounts operations_from_json(const Json& rows) {
  OperationCounts operations;
  if (!rows.is_array() || rows.size() != OperationCounts::methods.size()) {
    refuse("/operations", "does not have one row a method");
  }
  for (std::size_t method = 0; method < rows.size(); ++method) {
    const auto& row = rows[method];
    if (!row.is_array() || row.size() != response_code_count) {
      refuse("/operations", "does not have one column a response code");
    }
    for (std::uint8_t code = 0; code < response_code_count; ++code) {
      if (!is_count(row[code])) {
        refuse("/operations", "has something that is not a count");
      }
      operations.add(OperationCounts::methods[method], ResponseCode{code}, row[code].get<std::uint64_t>());
    }
  }
  return operations;
}

Json to_json(const SideUsage& side) {
  return {{"threads", side.threads},
          {"voluntary_switches", side.voluntary_switches},
          {"involuntary_switches", side.involuntary_switches},
          {"cpu_time_ns", side.cpu_time.count()},
          {"thread_wall_time_ns", side.thread_wall_time.count()}};
}

SideUsage side_from_json(const Json& json, std::string_view where) {
  const Reader reader(json, where);
  return {.threads = reader.count32("threads"),
          .voluntary_switches = reader.count("voluntary_switches"),
          .involuntary_switches = reader.count("involuntary_switches"),
          .cpu_time = reader.time("cpu_time_ns", longest_time_ns),
          .thread_wall_time = reader.time("thread_wall_time_ns", longest_time_ns)};
}

Json to_json(const ServerWork& work) {
  return {{"served", work.served},
          {"ignored", work.ignored},
          {"rejected", work.rejected},
          {"broken_sessions", work.broken_sessions},
          {"entries_walked", work.entries_walked},
          {"bytes_copied", work.bytes_copied},
          {"store_entries", work.store_entries}};
}

ServerWork work_from_json(const Json& json) {
  const Reader reader(json, "/server_work");
  return {.served = reader.count("served"),
          .ignored = reader.count("ignored"),
          .rejected = reader.count("rejected"),
          .broken_sessions = reader.count("broken_sessions"),
          .entries_walked = reader.count("entries_walked"),
          .bytes_copied = reader.count("bytes_copied"),
          .store_entries = reader.count("store_entries")};
}

Json to_json(const ClientResult& client) {
  return {{"client", client.client},
          {"operations", client.operations},
          {"throughput_ops_s", client.throughput_ops_s},
          {"latency_mean_ns", client.latency_mean_ns},
          {"latency_p99_ns", client.latency_p99_ns}};
}

ClientResult client_from_json(const Json& json) {
  const Reader reader(json, "/per_client");
  return {.client = reader.count32("client"),
          .operations = reader.count("operations"),
          .throughput_ops_s = reader.positive("throughput_ops_s"),
          .latency_mean_ns = reader.positive("latency_mean_ns"),
          .latency_p99_ns = reader.count("latency_p99_ns")};
}

CheckViolations violations_from_json(const Json& json) {
  const Reader reader(json, "/check_violations");
  CheckViolations violations;
  for (const auto& text : reader.list("texts", CheckViolations::texts_kept)) {
    if (!text.is_string()) {
      refuse("/check_violations/texts", "has something that is not a text");
    }
    violations.add(text.get_ref<const std::string&>());
  }
  violations.count = reader.count("count");
  if (violations.count < violations.texts.size()) {
    refuse("/check_violations/count", "is less than there are texts");
  }
  return violations;
}

// An object whose members have any name. `read` takes one of them from a Reader.
template <typename Value, typename Read>
std::map<std::string, Value> named_from_json(const Json& json, std::string_view where, const Read& read) {
  if (!json.is_object() || json.size() > most_names) {
    refuse(where, fmt::format("is not an object of at most {} members", most_names));
  }
  const Reader reader(json, where);
  std::map<std::string, Value> named;
  for (const auto& [name, value] : json.items()) {
    if (name.size() > most_text_bytes) {
      refuse(where, "has a name that is too long");
    }
    named[name] = read(reader, name.c_str());
  }
  return named;
}

}  // namespace

nlohmann::json to_json(const PointResult& point) {
  auto clients = Json::array();
  for (const auto& client : point.per_client) {
    clients.push_back(to_json(client));
  }
  Json json{{"clients", point.clients},
            {"operations", operations_to_json(point.operations)},
            {"latency", point.latency.to_json()},
            {"per_client", std::move(clients)},
            {"timeouts", point.timeouts},
            {"retries", point.retries},
            {"reconnections", point.reconnections},
            {"lost", point.lost},
            {"duplicates", point.duplicates},
            {"late_responses", point.late_responses},
            {"direct_gets",
             {{"remembered", point.direct_gets.remembered},
              {"asked", point.direct_gets.asked},
              {"stale", point.direct_gets.stale}}},
            {"server_replays", point.server_replays},
            {"trace_overflow", point.trace_overflow},
            {"check_violations",
             {{"count", point.check_violations.count}, {"texts", point.check_violations.texts}}},
            {"server_work", to_json(point.server_work)},
            {"server", to_json(point.server)},
            {"client", to_json(point.client)},
            {"injected_faults", point.injected_faults},
            {"time_spent_ns", point.time_spent_ns},
            {"partial_reason", point.partial_reason}};
  json["other_way"] = nullptr;
  if (point.other_way) {
    json["other_way"] = {{"operations", point.other_way->operations},
                         {"measured_ns", point.other_way->measured.count()}};
  }
  json["sampling"] = nullptr;
  if (point.sampling) {
    json["sampling"] = {{"windows", point.sampling->windows},
                        {"operations", point.sampling->operations},
                        {"simulated_s", point.sampling->simulated_s}};
  }
  json["window"] = nullptr;
  if (!point.window.empty()) {
    json["window"] = {{"first_request_ns", point.window.first_request.count()},
                      {"last_response_ns", point.window.last_response.count()}};
  }
  return json;
}

PointResult point_from_json(const nlohmann::json& json) {
  const Reader reader(json, "");
  PointResult point;
  point.clients = reader.count32("clients");
  point.operations = operations_from_json(reader.member("operations"));
  point.latency = Histogram::from_json(reader.member("latency"));
  for (const auto& client : reader.list("per_client", most_clients)) {
    point.per_client.push_back(client_from_json(client));
  }
  point.timeouts = reader.count("timeouts");
  point.retries = reader.count("retries");
  point.reconnections = reader.count("reconnections");
  point.lost = reader.count("lost");
  point.duplicates = reader.count("duplicates");
  point.late_responses = reader.count("late_responses");
  const Reader gets(reader.member("direct_gets"), "/direct_gets");
  point.direct_gets = {
      .remembered = gets.count("remembered"), .asked = gets.count("asked"), .stale = gets.count("stale")};
  point.server_replays = reader.count("server_replays");
  point.trace_overflow = reader.count("trace_overflow");
  point.check_violations = violations_from_json(reader.member("check_violations"));
  point.server_work = work_from_json(reader.member("server_work"));
  point.server = side_from_json(reader.member("server"), "/server");
  point.client = side_from_json(reader.member("client"), "/client");
  point.injected_faults = named_from_json<std::uint64_t>(
      reader.member("injected_faults"), "/injected_faults",
      [](const Reader& faults, const char* name) { return faults.count(name); });
  point.time_spent_ns =
      named_from_json<double>(reader.member("time_spent_ns"), "/time_spent_ns",
                              [](const Reader& times, const char* name) { return times.positive(name); });
  point.partial_reason = reader.text("partial_reason");
  if (const auto& other_way = reader.member("other_way"); !other_way.is_null()) {
    const Reader figures(other_way, "/other_way");
    point.other_way = {.operations = figures.count("operations"),
                       .measured = figures.time("measured_ns", longest_time_ns)};
  }
  if (const auto& sampling = reader.member("sampling"); !sampling.is_null()) {
    const Reader figures(sampling, "/sampling");
    point.sampling = {.windows = figures.count32("windows"),
                      .operations = figures.count("operations"),
                      .simulated_s = figures.positive("simulated_s")};
  }
  if (const auto& window = reader.member("window"); !window.is_null()) {
    const Reader times(window, "/window");
    point.window.first_request = times.time("first_request_ns", latest_instant_ns);
    point.window.last_response = times.time("last_response_ns", latest_instant_ns);
    if (point.window.empty()) {
      refuse("/window", "ends before it begins");
    }
  }
  return point;
}

}  // namespace rkv
