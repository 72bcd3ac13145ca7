// What was measured at one point of a run, that is with one number of clients, and how the parts that several
// threads and several client processes measured are put together. Plain data; copy it freely.
// Not thread-safe: every part is filled by one thread and merged when that thread has ended.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/exchange/direct_get_counts.hpp"
#include "core/measure/histogram.hpp"
#include "core/message/protocol.hpp"
#include "core/port/runtime.hpp"

namespace rkv {

inline double in_seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

// How often each method got each response code.
class OperationCounts {
 public:
  static constexpr std::array<Method, 5> methods{Method::get, Method::set, Method::del, Method::ping,
                                                 Method::reset};

  // A method or a code that is none is counted as nothing: the caller validates messages first.
  void add(Method method, ResponseCode code, std::uint64_t operations = 1);
  [[nodiscard]] std::uint64_t of(Method method, ResponseCode code) const;
  [[nodiscard]] std::uint64_t total() const;
  void merge(const OperationCounts& other);

  friend bool operator==(const OperationCounts&, const OperationCounts&) = default;

 private:
  std::array<std::array<std::uint64_t, response_code_count>, methods.size()> counts_{};
};

// When the measured operations ran. On the real side nanoseconds since the Unix epoch, so that processes (and
// hosts whose clocks agree) can be merged; in simulation nanoseconds since its start.
struct MeasuredWindow {
  std::chrono::nanoseconds first_request = std::chrono::nanoseconds::max();
  std::chrono::nanoseconds last_response = std::chrono::nanoseconds::min();

  void include(std::chrono::nanoseconds request, std::chrono::nanoseconds response);
  void merge(const MeasuredWindow& other);
  [[nodiscard]] bool empty() const { return last_response < first_request; }
  [[nodiscard]] std::chrono::nanoseconds length() const;  // 0 when empty

  friend bool operator==(const MeasuredWindow&, const MeasuredWindow&) = default;
};

// What the threads of one side used, all together.
struct SideUsage {
  std::uint32_t threads = 0;
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;
  Duration cpu_time{0};
  Duration thread_wall_time{0};  // the sum of the threads' lifetimes

  void add(const ThreadUsage& thread);
  void merge(const SideUsage& other);
  // CPU time over wall time of the threads: 1 when each had a core for itself and never slept.
  [[nodiscard]] double utilisation() const;

  friend bool operator==(const SideUsage&, const SideUsage&) = default;
};

// What the server did at a point, warm-up included, beside answering repeated requests from memory.
struct ServerWork {
  std::uint64_t served = 0;           // requests done on the store
  std::uint64_t ignored = 0;          // repeated requests that got no answer of their own
  std::uint64_t rejected = 0;         // messages that were nobody's request
  std::uint64_t broken_sessions = 0;  // clients whose connection or queue pair failed
  std::uint64_t entries_walked = 0;   // of the store
  std::uint64_t bytes_copied = 0;
  std::uint64_t store_entries = 0;  // in the end

  void merge(const ServerWork& other);

  friend bool operator==(const ServerWork&, const ServerWork&) = default;
};

// One client's share of a point.
struct ClientResult {
  std::uint32_t client = 0;
  std::uint64_t operations = 0;
  double throughput_ops_s = 0;  // over this client's own window
  double latency_mean_ns = 0;
  std::uint64_t latency_p99_ns = 0;

  friend bool operator==(const ClientResult&, const ClientResult&) = default;
};

[[nodiscard]] ClientResult client_result(std::uint32_t client, const Histogram& latency,
                                         const MeasuredWindow& window);

// Differences between responses and what a model of the store expects. Only the first few are kept as text.
struct CheckViolations {
  static constexpr std::size_t texts_kept = 8;
  static constexpr std::size_t text_bytes = 256;

  std::uint64_t count = 0;
  std::vector<std::string> texts;

  // Keeps at most text_bytes of it; what is not printable ASCII becomes a question mark.
  void add(std::string_view text);
  void merge(const CheckViolations& other);

  friend bool operator==(const CheckViolations&, const CheckViolations&) = default;
};

// What a point's result rests on when the point was not simulated whole: short windows out of it.
struct Sampling {
  std::uint32_t windows = 0;
  std::uint64_t operations = 0;  // simulated, what came before and after the measured ones included
  double simulated_s = 0;

  friend bool operator==(const Sampling&, const Sampling&) = default;
};

// What the clients on the server's side did at a point of workload verbs with both_ways.
struct OtherWay {
  std::uint64_t operations = 0;  // measured ones
  Duration measured{0};          // from the first one's end to the last one's

  [[nodiscard]] double throughput_ops_s() const;  // 0 when that is no time

  friend bool operator==(const OtherWay&, const OtherWay&) = default;
};

struct PointResult {
  std::uint32_t clients = 0;   // that were asked for
  OperationCounts operations;  // measured ones only: not the warm-up, not lost ones
  MeasuredWindow window;
  Histogram latency;  // of the measured operations
  std::vector<ClientResult> per_client;

  std::uint64_t timeouts = 0;        // a response did not come in time
  std::uint64_t retries = 0;         // requests sent again
  std::uint64_t reconnections = 0;   // RC: connections that exceeded their retries and were made anew
  std::uint64_t lost = 0;            // operations given up after the last retry
  std::uint64_t duplicates = 0;      // responses that had been received before
  std::uint64_t late_responses = 0;  // responses to operations that had been given up
  DirectGetCounts direct_gets;       // from a store of items, warm-up included
  std::uint64_t server_replays = 0;  // repeated requests that the server answered from memory
  std::uint64_t trace_overflow = 0;  // operations that the raw trace had no room for
  CheckViolations check_violations;

  ServerWork server_work;
  SideUsage server;
  SideUsage client;
  std::optional<OtherWay> other_way;  // none: nobody does anything the other way
  // What a fault injector did, by the name of the fault (drop, duplicate, ...). Empty: nothing injected.
  std::map<std::string, std::uint64_t> injected_faults;
  // Where an operation's time went: mean nanoseconds an operation, by name. Only a simulation knows.
  std::map<std::string, double> time_spent_ns;
  std::optional<Sampling> sampling;  // none: everything was run

  std::string trace_file;  // name inside the run's directory; empty: no trace
  // Why this point ended early; empty: it is complete.
  std::string partial_reason;

  [[nodiscard]] bool partial() const { return !partial_reason.empty(); }
  // Measured operations over (last response - first request); 0 when that is no time.
  [[nodiscard]] double throughput_ops_s() const;
};

// How evenly the clients were served, by their throughput.
struct Fairness {
  double jain_index = 1;  // (sum x)^2 / (n sum x^2): 1 all alike, 1/n one has all. Jain, Chiu, Hawe 1984
  double min_share = 0;   // the least and the most served client's part of all throughput
  double max_share = 0;
};

[[nodiscard]] Fairness fairness(const std::vector<ClientResult>& clients);

// Adds what another process measured at the same point. Its clients must be others; throws rkv::Error when a
// client is in both, and leaves `into` as it was.
void merge(PointResult& into, const PointResult& from);

}  // namespace rkv
