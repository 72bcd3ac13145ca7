#include "core/run/server_point.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/scenario/server_queues.hpp"
#include "core/workload/key_space.hpp"

namespace rkv {

struct ServerPoint::WorkerThread {
  std::unique_ptr<ServerExchange> exchange;
  std::unique_ptr<Worker> worker;
  ThreadUsage usage;
  std::unique_ptr<Thread> thread;  // last: joined before what it uses is destroyed
};

ServerPoint::ServerPoint(const Port& port, const Scenario& scenario, std::uint32_t clients,
                         std::uint64_t token, std::unique_ptr<Store> store, OnLinkDown on_link_down)
    : port_(port),
      scenario_(scenario),
      clients_(clients),
      token_(token),
      stop_(port.runtime->make_stop_flag()),
      store_(std::move(store)) {
  for_each_preloaded(
      scenario_, clients, [&](std::span<const std::byte> key, std::span<const std::byte> value) {
        Work work;
        if (store_->set(key, value, work) != ResponseCode::ok) {
          throw Error("the store took " + std::to_string(store_->entries()) +
                      " preloaded keys and no more: allow it more memory or ask for fewer or smaller values");
        }
      });
  const std::uint32_t workers = worker_count(scenario_, clients);
  if (scenario_.transport == Transport::tcp) {
    streams_ = std::make_unique<StreamHub>(port_, scenario_, clients, workers);
  } else {
    verbs_ = make_verbs_hub(port_, scenario_, clients, workers, std::move(on_link_down));
  }
  // A connection that is made anew repeats what was under way.
  if (loses_messages(scenario_.transport) || links() != nullptr) {
    replays_ = std::make_unique<ReplayTable>(clients, scenario_.load.window);
  }
}

ServerPoint::~ServerPoint() {
  stop();
}

ServerOffer ServerPoint::offer(std::uint32_t client) const {
  if (streams_) return {.endpoint = {}, .address = streams_->address(), .token = token_};
  Endpoint endpoint = verbs_->endpoint(client);
  endpoint.items = store_->items();
  return {.endpoint = endpoint, .address = {}, .token = 0};
}

void ServerPoint::connect(std::uint32_t client, const Endpoint& peer) {
  verbs_->connect(client, peer);
}

void ServerPoint::accept_streams(Instant deadline) {
  streams_->accept(token_, *stop_, deadline);
}

void ServerPoint::start() {
  const std::uint32_t workers = worker_count(scenario_, clients_);
  const MessageFormat format(scenario_.message);
  for (std::uint32_t w = 0; w < workers; ++w) {
    auto& worker = *workers_.emplace_back(std::make_unique<WorkerThread>());
    worker.exchange = streams_ ? streams_->make_worker(w, *stop_) : verbs_->make_worker(w, *stop_);
    worker.worker =
        std::make_unique<Worker>(*port_.runtime, *worker.exchange, format, *store_, replays_.get());
  }
  // As if each worker were made when its client connects, which clients do one after the other.
  const Duration stagger = workers == clients_ ? scenario_.load.start_stagger : Duration::zero();
  const Instant now = stagger > Duration::zero() ? port_.runtime->now() : Instant();
  // Only now: a worker may take completions that belong to any other's lane.
  for (std::uint32_t w = 0; w < workers; ++w) {
    WorkerThread& worker = *workers_[w];
    const Instant begin = now + w * stagger;
    worker.thread =
        port_.runtime->spawn({.name = "server " + std::to_string(w),
                              .cores = cores_of_thread(scenario_.server, static_cast<std::uint32_t>(w))},
                             [this, &worker, now, begin] {
                               if (begin > now) port_.runtime->sleep_until(begin, *stop_);
                               worker.worker->run();
                               worker.usage = port_.runtime->usage();
                             });
  }
}

void ServerPoint::stop() {
  stop_->request();
}

ServerResult ServerPoint::collect() {
  stop();
  ServerResult result;
  for (const auto& worker : workers_) {
    worker->thread->join();
    result.counts.add(worker->worker->counts());
    result.usage.add(worker->usage);
  }
  result.store_entries = store_->entries();
  return result;
}

}  // namespace rkv
