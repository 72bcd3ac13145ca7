// Requests and responses over byte streams (the sockets baseline), server side: one stream a client, dealt
// out to the workers in turn.
#pragma once

#include <memory>
#include <vector>

#include "core/completion/waiter.hpp"
#include "core/exchange/server_exchange.hpp"

namespace rkv {

// All that the workers have in common. Made and connected by one thread before any worker runs.
class StreamHub {
 public:
  StreamHub(const Port& port, const Scenario& scenario, std::uint32_t clients, std::uint32_t workers);

  [[nodiscard]] StreamAddress address() const { return listener_->address(); }
  // Takes the clients' connections, each of which says which client's it is and shows the token. Others are
  // closed. Throws rkv::Error when the deadline passes before all are there.
  void accept(std::uint64_t token, const StopFlag& stop, Instant deadline);
  // The end of one worker; call once for each, after accept().
  std::unique_ptr<ServerExchange> make_worker(std::uint32_t worker, const StopFlag& stop);

 private:
  friend class StreamWorker;

  const Port port_;
  const Scenario scenario_;
  const MessageFormat format_;
  const std::uint32_t workers_;
  std::unique_ptr<StreamListener> listener_;
  std::vector<std::unique_ptr<Stream>> streams_;  // a client each
};

}  // namespace rkv
