// A client process of a run (or the client half of the only process): joins a server over the control
// connection and takes part in its points.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "backends/verbs/control/connection.hpp"
#include "backends/verbs/control/reconnection_desk.hpp"
#include "backends/verbs/control/stop_signal.hpp"
#include "core/error.hpp"
#include "core/run/sides.hpp"

namespace rkv::control {

// What a running point shows; called about ten times a second.
struct PointProgress {
  std::uint32_t clients = 0;  // of this process
  std::uint64_t operations = 0;
  std::chrono::steady_clock::time_point started;
};

class RunClient {
 public:
  using OnProgress = std::function<void(const PointProgress&)>;

  // Both outlive it.
  RunClient(Connection connection, const StopSignal& interrupt, OnProgress on_progress);

  // Says hello as the process that brings the scenario, for a run of this many client processes, and waits
  // until the server has them all. Throws rkv::Error when it refuses or the wait is interrupted.
  void lead(const Scenario& scenario, std::uint32_t processes);
  // Says hello as a further process; gives the scenario that the leader brought.
  Scenario join();

  // The leader: asks for a point with so many clients and takes part in it.
  PointResult run_point(const Port& port, const Scenario& scenario, std::uint32_t clients);
  void done();
  // A further process: takes part in the next point, or nothing when the leader is done.
  std::optional<PointResult> follow_point(const Port& port, const Scenario& scenario);

  // The traces of the last point's clients of this process, and what their times count from.
  [[nodiscard]] const std::vector<TraceBuffer>& traces() const { return traces_; }
  [[nodiscard]] Instant trace_origin() const { return trace_origin_; }

 private:
  nlohmann::json hello(nlohmann::json message);
  nlohmann::json next_message(std::chrono::seconds patience, const char* awaited);
  // Why something failed that a server's end may have caused: what the server says about it, if it says
  // anything soon, else the failure itself.
  std::string reason_of_server(const Error& otherwise);
  PointResult take_part(const Port& port, const Scenario& scenario, std::uint32_t least_clients,
                        std::uint32_t most_clients, const nlohmann::json& message);
  struct Watched {
    std::string early;         // why the clients' end came early, or nothing
    bool server_gone = false;  // or has given up: there is nobody to merge results with
  };
  // Waits for the clients' end.
  Watched watch(ClientSide& point, const ClientShare& share, ReconnectionDesk& desk);
  // What the server says of this process's connections while they are used.
  static void heed_server(const nlohmann::json& message, ClientSide& point, const ClientShare& share,
                          ReconnectionDesk& desk, const std::string& peer);
  // The whole run's result for the one of this process.
  PointResult merged_with(const PointResult& own);

  Connection connection_;
  const StopSignal& interrupt_;
  OnProgress on_progress_;
  std::uint32_t process_ = 0;
  std::uint32_t processes_ = 1;
  std::vector<TraceBuffer> traces_;
  Instant trace_origin_;
};

}  // namespace rkv::control
