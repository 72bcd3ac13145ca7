// The server process of a run (or the server half of the only process): takes what the clients' processes ask
// for over the control connection, within its own limits, and serves one run at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "backends/verbs/control/connection.hpp"
#include "backends/verbs/control/doorbell.hpp"
#include "backends/verbs/control/lobby.hpp"
#include "backends/verbs/control/reconnections.hpp"
#include "backends/verbs/control/server_limits.hpp"
#include "backends/verbs/control/stop_signal.hpp"
#include "core/port/wait.hpp"
#include "core/run/sides.hpp"

namespace rkv::control {

class RunServer {
 public:
  // Listener and stop signal outlive it. `ports` gives the port for a transport: with a device for RC, UC and
  // UD.
  using PortFor = std::function<Port(const Scenario&)>;
  RunServer(Listener& listener, PortFor ports, ServerLimits limits, const StopSignal& stop, bool talks);

  // Serves one run. False when it was stopped before one began. A run that fails is reported to its
  // clients and, when this server talks, on stderr; it does not throw for what a peer did.
  bool serve_run();

 private:
  void serve(Run& run);
  void serve_point(Run& run, std::uint32_t clients);
  [[nodiscard]] Scenario accept_scenario(const nlohmann::json& hello, const std::string& peer) const;
  // Until one of them says something, the bell is rung or about a second has passed. Throws when the server
  // is stopped.
  void wait_for_any(const std::vector<Connection>& processes, const Doorbell* bell = nullptr) const;
  // What else is heeded while a point runs.
  struct Meanwhile {
    Doorbell& bell;  // links have changed
    Reconnections& reconnections;
  };
  // One message of each process, or rkv::Error. A result that ended early ends the other processes' too.
  std::vector<nlohmann::json> gather(std::vector<Connection>& processes, Clock::time_point deadline,
                                     const char* awaited, const Meanwhile* meanwhile = nullptr) const;
  [[nodiscard]] PointResult merged_results(const Run& run, std::uint32_t clients,
                                           const std::vector<nlohmann::json>& results) const;
  void say(const std::string& line) const;

  PortFor ports_;
  ServerLimits limits_;
  const StopSignal& stop_;
  bool talks_;
  Lobby lobby_;
};

}  // namespace rkv::control
