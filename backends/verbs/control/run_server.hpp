// The server process of a run (or the server half of the only process): takes what the clients' processes ask
// for over the control connection, within its own limits, and serves one run at a time.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "backends/verbs/control/connection.hpp"
#include "backends/verbs/control/stop_signal.hpp"
#include "core/port/wait.hpp"
#include "core/run/server_point.hpp"

namespace rkv::control {

// What a peer may ask of this server. Paths and core sets are never taken from the network.
struct ServerLimits {
  std::uint64_t max_memory_bytes = std::uint64_t{4} << 30;  // of a store, and of message buffers
  std::uint32_t max_threads = 4096;                         // workers
  std::chrono::seconds max_duration{3600};                  // of a point
  std::vector<int> cores;                                   // where its workers run; empty: anywhere
};

class RunServer {
 public:
  // All of them outlive it. `ports` gives the port for a transport: with a device for RC, UC and UD.
  using PortFor = std::function<Port(const Scenario&)>;
  RunServer(Listener& listener, PortFor ports, ServerLimits limits, const StopSignal& stop, bool talks);

  // Serves one run. False when it was stopped before one began. A run that fails is reported to its
  // clients and, when this server talks, on stderr; it does not throw for what a peer did.
  bool serve_run();

 private:
  struct Run {
    Scenario scenario;
    std::vector<Connection> processes;  // the leader first
  };
  std::optional<Run> gather_processes();
  void serve(Run& run);
  void serve_point(Run& run, std::uint32_t clients);
  [[nodiscard]] Scenario accept_scenario(const nlohmann::json& hello, const std::string& peer) const;
  // One message of each process, or rkv::Error.
  std::vector<nlohmann::json> gather(std::vector<Connection>& processes, Clock::time_point deadline,
                                     const char* awaited) const;
  void say(const std::string& line) const;

  Listener& listener_;
  PortFor ports_;
  ServerLimits limits_;
  const StopSignal& stop_;
  bool talks_;
};

}  // namespace rkv::control
