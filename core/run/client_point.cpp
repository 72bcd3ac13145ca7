#include "core/run/client_point.hpp"

#include <string>
#include <utility>

#include "core/scenario/server_queues.hpp"
#include "core/workload/load_schedule.hpp"

namespace rkv {
namespace {

// Trace records kept for a client when a run is bounded by time and not by operations.
constexpr std::size_t trace_records_without_quota = 1'000'000;

std::size_t trace_capacity(const Scenario& scenario, const ClientShare& share) {
  if (scenario.load.total_operations == 0) return trace_records_without_quota;
  return static_cast<std::size_t>(scenario.load.total_operations / share.of + 1);
}

}  // namespace

struct ClientPoint::ClientThread {
  // Counted by the client's thread, read by the one that shows progress: a cache line of its own.
  alignas(64) std::atomic<std::uint64_t> operations{0};
  std::unique_ptr<Client> client;
  std::unique_ptr<Thread> thread;  // last: joined before what it uses is destroyed
};

ClientPoint::ClientPoint(const Port& port, const Scenario& scenario, const ClientShare& share,
                         ReconnectClient reconnect)
    : port_(port),
      scenario_(scenario),
      share_(share),
      reconnect_(std::move(reconnect)),
      reconnects_(reconnect_ && can_reconnect(scenario_, share.of, worker_count(scenario_, share.of))),
      stop_(port.runtime->make_stop_flag()),
      overhead_lock_(port.runtime->make_mutex()) {
  if (scenario_.transport == Transport::tcp) {
    streams_.resize(share.count);
  } else {
    for (std::uint32_t i = 0; i < share.count; ++i) {
      Reconnect anew;
      if (reconnects_) anew = [this, i](const Endpoint& own) { return reconnect_(i, own, *stop_); };
      verbs_.push_back(make_verbs_client(port_, scenario_, *stop_, std::move(anew)));
    }
  }
  if (scenario_.trace) {
    traces_.reserve(share.count);
    for (std::uint32_t i = 0; i < share.count; ++i) {
      traces_.emplace_back(share.first + i, trace_capacity(scenario_, share));
    }
  }
}

ClientPoint::~ClientPoint() {
  stop();
}

void ClientPoint::connect(std::uint32_t index, const ServerOffer& offer, Instant deadline) {
  if (scenario_.transport == Transport::tcp) {
    streams_[index] = std::make_unique<StreamClient>(port_, scenario_, *stop_, offer.address, offer.token,
                                                     share_.first + index, deadline);
  } else {
    verbs_[index]->connect(offer.endpoint);
  }
}

void ClientPoint::start(Instant start) {
  this->start([this, start](std::uint32_t client) {
    const LoadSchedule own = load_schedule(scenario_.load, client, share_.of, start);
    return ClientSchedule{.start = own.start,
                          .warm_up_end = own.warm_up_end,
                          .end = own.end,
                          .stays = scenario_.load.stay_until_all_end};
  });
}

void ClientPoint::start(const std::function<ClientSchedule(std::uint32_t client)>& schedules) {
  const Client::Environment environment{.runtime = *port_.runtime,
                                        .scenario = scenario_,
                                        .stop = *stop_,
                                        .overhead_lock = *overhead_lock_,
                                        .clients = share_.of};
  for (std::uint32_t i = 0; i < share_.count; ++i) {
    auto& client = *clients_.emplace_back(std::make_unique<ClientThread>());
    ClientExchange& exchange = streams_.empty() ? static_cast<ClientExchange&>(*verbs_[i]) : *streams_[i];
    client.client = std::make_unique<Client>(environment, share_.first + i, exchange, client.operations,
                                             traces_.empty() ? nullptr : &traces_[i]);
  }
  unfinished_ = share_.count;
  for (std::uint32_t i = 0; i < share_.count; ++i) {
    ClientThread& client = *clients_[i];
    const std::uint32_t number = share_.first + i;
    client.thread = port_.runtime->spawn(
        {.name = "client " + std::to_string(number), .cores = cores_of_thread(scenario_.client, number)},
        [this, &client, schedule = schedules(number)] {
          client.client->run(schedule);
          if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            stop_->request();
          } else if (schedule.stays) {
            client.client->stay();
          }
        });
  }
}

void ClientPoint::stop() {
  stop_->request();
}

std::uint64_t ClientPoint::operations_done() const {
  std::uint64_t operations = 0;
  for (const auto& client : clients_) operations += client->operations.load(std::memory_order_relaxed);
  return operations;
}

bool ClientPoint::finished() const {
  return unfinished_.load(std::memory_order_acquire) == 0;
}

PointResult ClientPoint::collect(Instant epoch) {
  PointResult point;
  point.clients = share_.count;  // merging adds the other processes'
  for (std::uint32_t i = 0; i < share_.count; ++i) {
    clients_[i]->thread->join();
    ClientMeasurement& measured = clients_[i]->client->measurement();
    MeasuredWindow window;
    if (!measured.latency.empty()) {
      window.include(measured.first_request - epoch, measured.last_response - epoch);
      point.window.merge(window);
    }
    point.per_client.push_back(client_result(share_.first + i, measured.latency, window));
    point.latency.merge(measured.latency);
    point.operations.merge(measured.operations);
    point.timeouts += measured.timeouts;
    point.retries += measured.retries;
    point.reconnections += measured.reconnections;
    point.lost += measured.lost;
    point.duplicates += measured.duplicates;
    point.late_responses += measured.late_responses;
    point.direct_gets.merge(measured.direct_gets);
    point.check_violations.merge(measured.violations);
    point.client.add(measured.usage);
    if (measured.end != ClientEnd::complete && point.partial_reason.empty()) {
      point.partial_reason = "client " + std::to_string(share_.first + i) + ": " + measured.reason;
    }
  }
  for (const TraceBuffer& trace : traces_) point.trace_overflow += trace.overflow();
  return point;
}

}  // namespace rkv
