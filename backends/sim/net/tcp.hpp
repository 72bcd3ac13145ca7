// Kernel TCP of all simulated hosts: their listening ports, and the connections between them. What it costs
// is in tcp_costs.hpp, how bytes travel in tcp_flow.hpp.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/sim/net/tcp_connection.hpp"
#include "backends/sim/net/tcp_costs.hpp"

namespace rkv::sim {

// A listening port. The kernel opens connections up to the backlog by itself; further ones are answered when
// accept() makes room (Linux drops their SYN, and the client repeats it).
class TcpListener {
 public:
  // A free port of the host, counted up from 1. Throws rkv::Error when all were used.
  TcpListener(Tcp& tcp, Host& host, std::uint32_t backlog);
  // At once: refuses or closes those that were not accepted.
  ~TcpListener();
  TcpListener(const TcpListener&) = delete;
  TcpListener& operator=(const TcpListener&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

  // A SYN has come.
  void enqueue(TcpConnection& connection);
  // The next connection, whose server end is then the caller's to release; null when there is none.
  TcpConnection* accept();

  // Threads whose operation waits for a connection are signalled when one comes.
  void watch(Thread& thread) { watchers_.push_back(&thread); }
  void forget(Thread& thread);

 private:
  void answer();

  Tcp& tcp_;
  Host& host_;
  const std::uint32_t backlog_;
  const std::uint16_t port_;
  std::deque<TcpConnection*> queue_;  // held
  std::size_t answered_ = 0;          // the first so many of them
  std::vector<Thread*> watchers_;
};

// Outlives connections and listeners, and all their events. One a simulation.
class Tcp {
 public:
  // Hosts by their number.
  Tcp(World& world, Network& network, const TcpProfile& profile, std::vector<Host*> hosts);
  Tcp(const Tcp&) = delete;
  Tcp& operator=(const Tcp&) = delete;

  [[nodiscard]] World& world() { return world_; }
  [[nodiscard]] const TcpCosts& costs(const Host& host) const { return costs_[host.number()]; }
  // Null when none has this name.
  [[nodiscard]] Host* host(std::string_view name) const;

  // Not yet on its way; the caller holds the client's end.
  TcpConnection& make_connection(Host& client, Host& server, std::uint16_t port);
  // How many there are that did not end.
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }

  // --- of connections and listeners
  [[nodiscard]] TcpFlow::Way way(const Host& from, Host& to);
  void end(const TcpConnection& connection);
  [[nodiscard]] TcpListener* listener(const Host& host, std::uint16_t port) const;
  std::uint16_t add_listener(const Host& host, TcpListener& listener);
  void remove_listener(const Host& host, std::uint16_t port);

 private:
  World& world_;
  Network& network_;
  const TcpProfile profile_;
  const std::vector<Host*> hosts_;
  std::vector<TcpCosts> costs_;                                                // a host each
  std::vector<std::uint16_t> last_ports_;                                      // a host each
  std::map<std::pair<std::uint32_t, std::uint16_t>, TcpListener*> listeners_;  // by host and port
  std::list<TcpConnection> connections_;
};

}  // namespace rkv::sim
