// The server's side of one point of a study, that is of one number of clients: its store, queue pairs or
// sockets, and workers. Backends carry its offers to the clients' side and the clients' back, over a TCP
// connection or, in one process, directly.
//
// Used by one thread: construct, hand out offers, connect every client, start, stop, collect.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/exchange/stream_server.hpp"
#include "core/exchange/verbs_server.hpp"
#include "core/report/result.hpp"
#include "core/server/worker.hpp"
#include "core/store/store.hpp"

namespace rkv {

// What a client must know to connect: an endpoint (RC, UC, UD) or an address and a token (TCP).
struct ServerOffer {
  Endpoint endpoint;
  StreamAddress address;
  std::uint64_t token = 0;
};

struct ServerResult {
  WorkerCounts counts;
  SideUsage usage;
  std::uint64_t store_entries = 0;
};

// Puts the server's side into a point's result.
void add_server(PointResult& point, const ServerResult& served);

class ServerPoint {
 public:
  // `store` is an empty one whose locks come from port.runtime; it is filled when the scenario preloads it.
  // `token` protects TCP data connections: unpredictable. Throws rkv::Error for what the device or the
  // operating system refuses. `on_link_down`: given by who connects clients anew; without it whose connection
  // is lost is gone.
  ServerPoint(const Port& port, const Scenario& scenario, std::uint32_t clients, std::uint64_t token,
              std::unique_ptr<Store> store, OnLinkDown on_link_down = {});
  ~ServerPoint();  // stops

  [[nodiscard]] ServerOffer offer(std::uint32_t client) const;
  // RC, UC, UD: the client's queue pair. Once for every client, before start().
  void connect(std::uint32_t client, const Endpoint& peer);
  // TCP: takes the clients' connections, once all of them have dialled or while they do.
  void accept_streams(Instant deadline);
  // What connects clients anew, once they are started; null where nobody is.
  [[nodiscard]] ServerLinks* links() { return verbs_ ? verbs_->links() : nullptr; }
  void start();
  // Raises the workers' stop flag, from any thread; safe before start() and more than once.
  void stop();
  // Stops, waits for the workers and sums up.
  ServerResult collect();

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
