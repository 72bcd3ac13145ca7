// The clients' side of one point of a study: this process's clients, their connections and threads.
//
// Used by one thread: construct, hand out endpoints, connect every client, start, watch, collect. stop() may
// be called by any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/client/client.hpp"
#include "core/exchange/stream_client.hpp"
#include "core/exchange/verbs_client.hpp"
#include "core/run/server_point.hpp"

namespace rkv {

// Which of a point's clients a process runs: `count` of them from number `first`.
struct ClientShare {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t of = 0;  // all clients of the point
};

// The share of one of several parts (processes, hosts), as even as it can be.
[[nodiscard]] ClientShare client_share(std::uint32_t clients, std::uint32_t part, std::uint32_t parts);

class ClientPoint {
 public:
  // Reconnect for the client share.first + index, which is to give up when `stop` is raised.
  using ReconnectClient =
      std::function<std::optional<Endpoint>(std::uint32_t index, const Endpoint& own, const StopFlag& stop)>;
  // Without `reconnect` a client whose connection is lost has ended.
  ClientPoint(const Port& port, const Scenario& scenario, const ClientShare& share,
              ReconnectClient reconnect = {});
  ~ClientPoint();  // stops

  // RC, UC, UD: the queue pair of client share.first + index.
  [[nodiscard]] Endpoint endpoint(std::uint32_t index) const { return verbs_[index]->endpoint(); }
  void connect(std::uint32_t index, const ServerOffer& offer, Instant deadline);

  // Whether its clients connect anew.
  [[nodiscard]] bool reconnects() const { return reconnects_; }
  // Where they do: the server has lost its end of this client's connection. From any thread.
  void fail(std::uint32_t index) { verbs_[index]->fail(); }

  // Starts all clients; their schedule counts from `start`.
  void start(Instant start);
  // The same with schedules of their own, by the client's number in the whole point.
  void start(const std::function<ClientSchedule(std::uint32_t client)>& schedules);
  // Raises the clients' stop flag, from any thread.
  void stop();
  [[nodiscard]] std::uint64_t operations_done() const;  // by all clients so far, warm-up included
  [[nodiscard]] bool finished() const;                  // whether every client has ended
  // Waits for the clients and sums up. `epoch` is what the measured window is counted from.
  PointResult collect(Instant epoch);
  // What was traced, a client each; empty unless the scenario asks for it. After collect().
  [[nodiscard]] const std::vector<TraceBuffer>& traces() const { return traces_; }

 private:
  const Port port_;
  const Scenario scenario_;
  const ClientShare share_;
  const ReconnectClient reconnect_;
  const bool reconnects_;
  std::unique_ptr<StopFlag> stop_;
  std::atomic<std::uint32_t> unfinished_{0};
  std::unique_ptr<Mutex> overhead_lock_;
  std::vector<std::unique_ptr<VerbsClient>> verbs_;  // one of the two
  std::vector<std::unique_ptr<StreamClient>> streams_;
  std::vector<TraceBuffer> traces_;
  struct ClientThread;
  std::vector<std::unique_ptr<ClientThread>> clients_;
};

}  // namespace rkv
