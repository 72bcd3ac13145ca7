// The two sides of one point of a study, that is of one number of clients, whatever the workload. Who runs a
// point connects them: the server's side makes an offer for each connection, and the clients' side, which is
// one process's or several processes', gives its endpoint back. Backends carry these over a TCP connection
// or, in one process, directly.
//
// A connection is a client's, or that of a group of clients which have their queue pairs in common (workload
// verbs).
//
// Each is used by one thread: construct, connect everything, start, watch, collect. stop() and
// ClientSide::fail() may be called by any thread. What the device or the operating system refuses, and what a
// peer's endpoint lacks, is thrown as rkv::Error. Destruction stops.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/exchange/reconnection.hpp"
#include "core/measure/trace.hpp"
#include "core/port/device.hpp"
#include "core/port/stream.hpp"
#include "core/port/wait.hpp"
#include "core/report/result.hpp"
#include "core/server/worker.hpp"
#include "core/workload/client_share.hpp"

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
  std::optional<OtherWay> other_way;
  std::string failure;  // why it did not serve to the end; empty: it did
};

// Puts the server's side into a point's result.
void add_server(PointResult& point, const ServerResult& served);

// Connections by number: `count` of them from `first`.
struct ConnectionRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

class ServerSide {
 public:
  virtual ~ServerSide() = default;

  // Those of one of the processes that run this point's clients.
  [[nodiscard]] virtual ConnectionRange connections_of(const ClientShare& share) const = 0;
  [[nodiscard]] virtual ServerOffer offer(std::uint32_t connection) const = 0;
  // RC, UC, UD: once for every connection, before start().
  virtual void connect(std::uint32_t connection, const Endpoint& peer) = 0;
  // TCP: takes the clients' connections, once all of them have dialled or while they do.
  virtual void accept_streams(Instant deadline) = 0;
  // What connects clients anew, once they are started; null where nobody is.
  [[nodiscard]] virtual ServerLinks* links() = 0;
  virtual void start() = 0;
  // Raises the threads' stop flag, from any thread; safe before start() and more than once.
  virtual void stop() = 0;
  // Stops, waits for the threads and sums up. The clients have ended.
  virtual ServerResult collect() = 0;
};

class ClientSide {
 public:
  virtual ~ClientSide() = default;

  // How many it has; a process's count from 0.
  [[nodiscard]] virtual std::uint32_t connections() const = 0;
  // RC, UC, UD.
  [[nodiscard]] virtual Endpoint endpoint(std::uint32_t connection) const = 0;
  virtual void connect(std::uint32_t connection, const ServerOffer& offer, Instant deadline) = 0;

  // Whether its clients connect anew.
  [[nodiscard]] virtual bool reconnects() const = 0;
  // Where they do: the server has lost its end of this connection.
  virtual void fail(std::uint32_t connection) = 0;

  // Starts all clients; their schedule counts from `start`.
  virtual void start(Instant start) = 0;
  // Raises the clients' stop flag, from any thread.
  virtual void stop() = 0;
  [[nodiscard]] virtual std::uint64_t operations_done() const = 0;  // by all so far, warm-up included
  [[nodiscard]] virtual bool finished() const = 0;                  // whether every client has ended
  // Waits for the clients and sums up. `epoch` is what the measured window is counted from.
  virtual PointResult collect(Instant epoch) = 0;
  // What was traced, a client each; empty unless the scenario asks for it. After collect().
  [[nodiscard]] virtual const std::vector<TraceBuffer>& traces() const = 0;
};

// Reconnect for this connection of a process, which is to give up when `stop` is raised.
using ReconnectClient = std::function<std::optional<Endpoint>(std::uint32_t connection, const Endpoint& own,
                                                              const StopFlag& stop)>;

// What the server's side of a point rests on beside port and scenario.
struct ServerNeeds {
  std::uint32_t clients = 0;
  std::uint32_t processes = 1;  // that run them
  std::uint64_t token = 0;      // protects TCP data connections: unpredictable
  std::uint64_t store_bytes = 0;
  OnLinkDown on_link_down;
};

// The side that the scenario's workload asks for. What the port names outlives it.
[[nodiscard]] std::unique_ptr<ServerSide> make_server_side(const Port& port, const Scenario& scenario,
                                                           ServerNeeds needs);
[[nodiscard]] std::unique_ptr<ClientSide> make_client_side(const Port& port, const Scenario& scenario,
                                                           const ClientShare& share,
                                                           ReconnectClient reconnect);

}  // namespace rkv
