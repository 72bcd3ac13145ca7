// The client loop: draw operations, send them, await responses, retry what was lost, measure. One object a
// client thread; the same code on every backend and over every exchange.
//
// With a doorbell_batch, a closed loop without think time issues when so many slots are free, or as many as
// operations are left, and then all that are free: a chain is as long as is asked for, as in core/verbs_load,
// and what is free beyond it has nothing to wait for. So many are free in the end, since the batch is no
// larger than the window, though after a loss perhaps only when the time-out has passed. Paced operations
// (open loop, think time, turns) and repeated requests do not wait: only those that are due at once go
// together.
//
// Latency is from just before the request is posted (open loop: from its intended start, so that a stalled
// server is not spared the requests it delayed) to just after the response was taken. Drawing the operation,
// formatting its key and the thesis's client overhead lie outside. The two time stamps of an operation are
// read one wait later than they are taken, as core/port/runtime.hpp asks.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/check/checker.hpp"
#include "core/client/free_slots.hpp"
#include "core/exchange/client_exchange.hpp"
#include "core/measure/histogram.hpp"
#include "core/measure/trace.hpp"
#include "core/report/result.hpp"
#include "core/workload/arrivals.hpp"
#include "core/workload/operation_stream.hpp"
#include "core/workload/turns.hpp"

namespace rkv {

// When a client starts and ends, fixed before its thread is.
struct ClientSchedule {
  Instant start;
  Instant warm_up_end;           // what was sent before is not measured
  Instant measured_end = never;  // what was sent from here on is not measured
  Instant end = never;           // nothing is issued from here on
  // The thesis's operations only: those of this client that lie before the start, none of them drawn.
  std::uint64_t operations_before = 0;
  bool stays = false;  // until all clients of its process have ended
};

enum class ClientEnd : std::uint8_t { complete, stopped, broken, overloaded };

// What one client measured; its thread's alone until the thread has ended.
struct ClientMeasurement {
  ClientEnd end = ClientEnd::complete;
  std::string reason;  // why it did not end complete
  Histogram latency;
  OperationCounts operations;
  Instant first_request = Instant::max();
  Instant last_response = Instant::min();
  std::uint64_t timeouts = 0;
  std::uint64_t retries = 0;
  std::uint64_t reconnections = 0;
  std::uint64_t lost = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t late_responses = 0;
  std::uint64_t malformed = 0;
  DirectGetCounts direct_gets;
  CheckViolations violations;
  ThreadUsage usage;
};

class Client {
 public:
  // What all clients of a process have in common; outlives them.
  struct Environment {
    Runtime& runtime;
    const Scenario& scenario;
    const StopFlag& stop;
    Mutex& overhead_lock;   // of the thesis's client overhead
    std::uint32_t clients;  // of the whole run
  };

  // `progress` counts finished operations for other threads to read. trace: null for none.
  Client(const Environment& environment, std::uint32_t client, ClientExchange& exchange,
         std::atomic<std::uint64_t>& progress, TraceBuffer* trace);

  // Runs to the end of the schedule and of all that is then under way, or until the stop flag is raised.
  void run(const ClientSchedule& schedule);
  // After run(): waits on, as its completion policy has it, until the stop flag is raised.
  void stay();
  // After run().
  [[nodiscard]] ClientMeasurement& measurement() { return measurement_; }

 private:
  struct Slot {
    Operation operation;
    std::uint64_t sequence = 0;  // of the request under way
    std::uint64_t index = 0;     // how many operations this client had issued before
    std::uint64_t given_up = 0;  // the last sequence that was lost
    std::uint32_t bytes = 0;
    std::uint32_t retries = 0;
    bool busy = false;
    Instant sent;       // stamp
    Instant intended;   // open loop
    Instant attempted;  // the latest attempt: `sent` until it was retried
    Duration timeout{0};
    Instant deadline = never;  // no later than the time-out; exact after the first look
  };
  // An operation whose stamps become valid with the next wait.
  struct Answered {
    Instant sent;
    Instant received;
    std::uint64_t index;
    std::uint64_t key_id;
    Method method;
    ResponseCode code;
  };

  [[nodiscard]] bool issuing() const;
  [[nodiscard]] bool gathers() const;
  void issue_ready();
  void issue(std::uint32_t slot_index, Instant intended);
  void take(const ResponseView& response);
  void record_answered();
  void look_after_timeouts();
  // All that is under way, over a new connection.
  void send_all_again();
  // False: the client has ended.
  bool send(std::uint32_t slot_index);
  void finish_slot(std::uint32_t slot_index);
  void end_with(ClientEnd end, std::string_view reason);
  [[nodiscard]] Instant next_deadline() const;
  [[nodiscard]] bool open_loop() const { return scenario_.load.arrivals.kind != Arrivals::Kind::closed; }
  [[nodiscard]] bool paced() const {
    return open_loop() || scenario_.load.think_time > Duration::zero() || turns_.taken();
  }

  Runtime& runtime_;
  const Scenario& scenario_;
  const StopFlag& stop_;
  Mutex& overhead_lock_;
  const std::uint32_t client_;
  const MessageFormat format_;
  const bool loses_messages_;
  const std::uint64_t quota_;
  ClientExchange& exchange_;
  std::atomic<std::uint64_t>& progress_;
  TraceBuffer* trace_;

  const Turns turns_;
  OperationStream operations_;
  std::optional<ArrivalProcess> arrivals_;
  std::optional<Checker> checker_;
  std::vector<std::byte> key_;
  std::vector<std::byte> value_;
  std::vector<Slot> slots_;
  FreeSlots free_;
  std::vector<Answered> answered_;
  std::uint32_t answered_count_ = 0;

  ClientSchedule schedule_;
  std::uint64_t issued_ = 0;
  std::uint64_t sequence_ = 0;
  Instant time_;  // the latest time that is known without asking
  Instant next_arrival_;
  Instant earliest_deadline_ = never;
  bool ended_ = false;
  ClientMeasurement measurement_;
};

}  // namespace rkv
