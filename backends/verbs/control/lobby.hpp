// Where client processes wait at a server until a run has all of them: who says hello, and as what.
//
// Everybody who waits is watched, so that one who goes away is noticed and nobody who is silent holds up the
// others. Not thread-safe.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "backends/verbs/control/connection.hpp"
#include "backends/verbs/control/stop_signal.hpp"
#include "core/scenario/scenario.hpp"

namespace rkv::control {

// Client processes of a run.
inline constexpr std::uint32_t most_processes = 256;

struct Run {
  Scenario scenario;
  std::vector<Connection> processes;  // the leader first
};

class Lobby {
 public:
  // Gives the scenario of a leader's hello as this server will run it, or throws for what it refuses.
  using AcceptScenario = std::function<Scenario(const nlohmann::json& hello, const std::string& peer)>;
  using Say = std::function<void(const std::string& line)>;

  // `listener` and `stop` outlive it.
  Lobby(Listener& listener, const StopSignal& stop, AcceptScenario accept_scenario, Say say);

  // The next run, once all its processes are there; nothing when stopped.
  std::optional<Run> next_run();

 private:
  struct Newcomer {
    Connection connection;
    Clock::time_point deadline;  // to say hello by
  };
  void wait();
  void let_in();
  void hear_newcomers();
  void hear_hello(Connection connection, const nlohmann::json& hello);
  void look_after_waiting();
  void refuse(Connection& connection, const std::string& why) const;
  [[nodiscard]] bool complete() const { return leading_ && joined_.size() + 1 >= processes_; }

  Listener& listener_;
  const StopSignal& stop_;
  AcceptScenario accept_scenario_;
  Say say_;
  std::vector<Newcomer> newcomers_;
  std::vector<Connection> joined_;
  std::optional<Run> leading_;  // the leader's, until it is complete
  std::size_t processes_ = 1;   // that it asked for
};

}  // namespace rkv::control
