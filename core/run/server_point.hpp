// The server's side of one point of a study, that is of one number of clients: its store, queue pairs or
// sockets, and workers.
//
// Used by one thread: construct, hand out offers, connect every client, start, stop, collect.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/exchange/stream_server.hpp"
#include "core/exchange/verbs_server.hpp"
#include "core/run/sides.hpp"
#include "core/server/worker.hpp"
#include "core/store/store.hpp"

namespace rkv {

class ServerPoint final : public ServerSide {
 public:
  // `store` is an empty one whose locks come from port.runtime; it is filled when the scenario preloads it.
  // `token` protects TCP data connections: unpredictable. Throws rkv::Error for what the device or the
  // operating system refuses. `on_link_down`: given by who connects clients anew; without it whose connection
  // is lost is gone.
  ServerPoint(const Port& port, const Scenario& scenario, std::uint32_t clients, std::uint64_t token,
              std::unique_ptr<Store> store, OnLinkDown on_link_down = {});
  ~ServerPoint() override;  // stops

  // One a client, by its number.
  [[nodiscard]] ConnectionRange connections_of(const ClientShare& share) const override {
    return {.first = share.first, .count = share.count};
  }
  [[nodiscard]] ServerOffer offer(std::uint32_t client) const override;
  void connect(std::uint32_t client, const Endpoint& peer) override;
  void accept_streams(Instant deadline) override;
  [[nodiscard]] ServerLinks* links() override { return verbs_ ? verbs_->links() : nullptr; }
  void start() override;
  void stop() override;
  ServerResult collect() override;

 private:
  const Port port_;
  const Scenario scenario_;
  const std::uint32_t clients_;
  const std::uint64_t token_;
  std::unique_ptr<StopFlag> stop_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<ReplayTable> replays_;
  std::unique_ptr<VerbsHub> verbs_;  // one of the two
  std::unique_ptr<StreamHub> streams_;
  struct WorkerThread;
  std::vector<std::unique_ptr<WorkerThread>> workers_;
};

}  // namespace rkv
