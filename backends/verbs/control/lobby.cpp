#include "backends/verbs/control/lobby.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "backends/verbs/control/messages.hpp"
#include "core/error.hpp"

namespace rkv::control {
namespace {

constexpr std::chrono::seconds hello_patience{10};
// Connections of each kind that are kept waiting, so that strangers can't use up the descriptors.
constexpr std::size_t most_waiting = 256;

pollfd readable(int fd) {
  return {.fd = fd, .events = POLLIN, .revents = 0};
}

}  // namespace

Lobby::Lobby(Listener& listener, const StopSignal& stop, AcceptScenario accept_scenario, Say say)
    : listener_(listener), stop_(stop), accept_scenario_(std::move(accept_scenario)), say_(std::move(say)) {}

std::optional<Run> Lobby::next_run() {
  while (!complete()) {
    wait();
    if (stop_.raised()) return std::nullopt;
    hear_newcomers();
    let_in();
    look_after_waiting();  // last: a run is complete with those only who are still there
  }
  Run run = std::move(*leading_);
  leading_.reset();
  for (std::size_t i = 1; i < processes_; ++i) run.processes.push_back(std::move(joined_[i - 1]));
  joined_.erase(joined_.begin(), joined_.begin() + static_cast<std::ptrdiff_t>(processes_ - 1));
  return run;
}

void Lobby::wait() {
  std::vector<pollfd> fds{readable(stop_.fd())};
  if (newcomers_.size() < most_waiting) fds.push_back(readable(listener_.fd()));
  for (const Newcomer& newcomer : newcomers_) fds.push_back(readable(newcomer.connection.fd()));
  for (const Connection& waiting : joined_) fds.push_back(readable(waiting.fd()));
  if (leading_) fds.push_back(readable(leading_->processes.front().fd()));
  constexpr int look_again_ms = 1000;  // for newcomers that say nothing
  if (::poll(fds.data(), fds.size(), look_again_ms) < 0 && errno != EINTR) throw Error("poll failed");
}

void Lobby::let_in() {
  while (newcomers_.size() < most_waiting) {
    auto connection = listener_.accept(Clock::now(), stop_.fd());
    if (!connection) return;
    newcomers_.push_back({.connection = std::move(*connection), .deadline = Clock::now() + hello_patience});
  }
}

void Lobby::hear_newcomers() {
  std::vector<Newcomer> silent;
  for (Newcomer& newcomer : std::exchange(newcomers_, {})) {
    try {
      const auto hello = newcomer.connection.receive(Clock::now());
      if (hello) {
        hear_hello(std::move(newcomer.connection), *hello);
      } else if (Clock::now() < newcomer.deadline) {
        silent.push_back(std::move(newcomer));
      } else {
        refuse(newcomer.connection, "no hello came");
      }
    } catch (const Error& error) {
      refuse(newcomer.connection, error.what());
    }
  }
  newcomers_ = std::move(silent);
}

void Lobby::hear_hello(Connection connection, const nlohmann::json& hello) {
  try {
    check_common_ground(hello, connection.peer());
    if (hello.contains("join")) {
      if (joined_.size() == most_waiting) throw Error("too many processes wait for a run here");
      joined_.push_back(std::move(connection));
      return;
    }
    if (leading_) throw Error("another run is being set up here");
    processes_ = number(hello, "processes", 1, most_processes);
    Run run{.scenario = accept_scenario_(hello, connection.peer()), .processes = {}};
    run.processes.push_back(std::move(connection));
    leading_ = std::move(run);
  } catch (const std::exception& error) {
    refuse(connection, error.what());
  }
}

void Lobby::look_after_waiting() {
  const auto gone = [this](Connection& connection) {
    try {
      const auto message = connection.receive(Clock::now());
      if (!message) return false;
      throw_if_failed(*message, connection.peer());
      throw Error(connection.peer() + " spoke out of turn");
    } catch (const Error& error) {
      refuse(connection, error.what());
      return true;
    }
  };
  std::erase_if(joined_, gone);
  if (leading_ && gone(leading_->processes.front())) leading_.reset();
}

void Lobby::refuse(Connection& connection, const std::string& why) const {
  say_(fmt::format("refused {}: {}", connection.peer(), why));
  try {
    connection.send({{"failed", why}});
  } catch (const Error&) {
    // It is gone; there is nobody to tell.
  }
}

}  // namespace rkv::control
