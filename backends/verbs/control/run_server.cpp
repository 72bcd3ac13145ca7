#include "backends/verbs/control/run_server.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>

#include "backends/verbs/control/messages.hpp"
#include "core/error.hpp"
#include "core/report/exchange.hpp"
#include "core/run/device_checks.hpp"
#include "core/scenario/load.hpp"

namespace rkv::control {
namespace {

// How long a peer may take to say hello, and to set up its clients.
constexpr std::chrono::seconds hello_patience{10};
constexpr std::chrono::seconds set_up_patience{120};
constexpr std::uint32_t most_processes = 256;

std::uint64_t random_token() {
  std::uint64_t token = 0;
  if (::getrandom(&token, sizeof token, 0) != sizeof token) throw Error("getrandom gave nothing");
  return token;
}

// What the message buffers of a run need, roughly: receives and responses of every client.
std::uint64_t message_memory(const Scenario& scenario, std::uint64_t clients) {
  const MessageFormat format(scenario.message);
  const std::uint64_t a_client =
      std::uint64_t{scenario.queue_pair.receive_depth} * format.largest_request_bytes() +
      std::uint64_t{4} * std::max(scenario.load.window, scenario.queue_pair.signal_interval) *
          format.largest_response_bytes();
  return clients * a_client;
}

}  // namespace

RunServer::RunServer(Listener& listener, PortFor ports, ServerLimits limits, const StopSignal& stop,
                     bool talks)
    : listener_(listener), ports_(std::move(ports)), limits_(std::move(limits)), stop_(stop), talks_(talks) {}

void RunServer::say(const std::string& line) const {
  if (talks_) fmt::print(stderr, "rkv-real server: {}\n", line);
}

Scenario RunServer::accept_scenario(const nlohmann::json& hello, const std::string& peer) const {
  Scenario scenario = parse_scenario(member(hello, "scenario").dump(), "the scenario from " + peer);
  scenario.server.cores = limits_.cores;
  const std::uint32_t most_clients = *std::max_element(scenario.clients.begin(), scenario.clients.end());
  const std::uint32_t workers = scenario.server.workers == 0 ? most_clients : scenario.server.workers;
  if (workers > limits_.max_threads) {
    throw Error(fmt::format("{} workers asked for, and this server starts no more than {} (--max-threads)",
                            workers, limits_.max_threads));
  }
  if (message_memory(scenario, most_clients) > limits_.max_memory_bytes) {
    throw Error(fmt::format(
        "message buffers of {} MiB asked for, and this server takes no more than {} (--max-memory-mib)",
        message_memory(scenario, most_clients) >> 20, limits_.max_memory_bytes >> 20));
  }
  if (scenario.load.duration + scenario.load.warm_up > limits_.max_duration) {
    throw Error(fmt::format("a longer run asked for than the {} s that this server allows (--max-duration-s)",
                            limits_.max_duration.count()));
  }
  const Port port = ports_(scenario);
  if (port.device != nullptr) check_against_device(scenario, *port.device, scenario.name);
  return scenario;
}

std::optional<RunServer::Run> RunServer::gather_processes() {
  std::optional<Run> run;
  std::vector<Connection> joined;
  std::uint64_t processes = 1;
  while (!run || run->processes.size() + joined.size() < processes) {
    auto connection = listener_.accept(Clock::now() + std::chrono::hours(24), stop_.fd());
    if (stop_.raised()) return std::nullopt;
    if (!connection) continue;
    try {
      const auto hello = connection->receive(Clock::now() + hello_patience, stop_.fd());
      if (!hello) throw Error("no hello came");
      check_common_ground(*hello, connection->peer());
      if (hello->contains("join")) {
        joined.push_back(std::move(*connection));
        continue;
      }
      if (run) throw Error("another run is being set up here");
      processes = number(*hello, "processes", 1, most_processes);
      Run asked{.scenario = accept_scenario(*hello, connection->peer()), .processes = {}};
      asked.processes.push_back(std::move(*connection));
      run = std::move(asked);
    } catch (const Error& error) {
      say(fmt::format("refused {}: {}", connection->peer(), error.what()));
      try {
        connection->send({{"failed", error.what()}});
      } catch (const Error&) {
        // It is gone; there is nobody to tell.
      }
    }
  }
  for (Connection& connection : joined) run->processes.push_back(std::move(connection));
  return run;
}

bool RunServer::serve_run() {
  std::optional<Run> run = gather_processes();
  if (!run) return false;
  try {
    serve(*run);
  } catch (const std::exception& error) {
    say(fmt::format("the run ended: {}", error.what()));
    for (Connection& process : run->processes) {
      try {
        process.send({{"failed", error.what()}});
      } catch (const Error&) {
        // This one is why, or is gone too.
      }
    }
  }
  return true;
}

std::vector<nlohmann::json> RunServer::gather(std::vector<Connection>& processes, Clock::time_point deadline,
                                              const char* awaited) const {
  std::vector<nlohmann::json> messages(processes.size());
  std::size_t missing = processes.size();
  while (missing > 0) {
    std::vector<pollfd> fds;
    for (std::size_t i = 0; i < processes.size(); ++i) {
      // A process that has answered is still watched for its end.
      fds.push_back({.fd = processes[i].fd(), .events = POLLIN, .revents = 0});
    }
    fds.push_back({.fd = stop_.fd(), .events = POLLIN, .revents = 0});
    if (::poll(fds.data(), fds.size(), 1000) < 0 && errno != EINTR) throw Error("poll failed");
    if (stop_.raised()) throw Error("the server was stopped");
    if (Clock::now() >= deadline) throw Error(fmt::format("no {} in time", awaited));
    for (std::size_t i = 0; i < processes.size(); ++i) {
      if (fds[i].revents == 0) continue;
      auto message = processes[i].receive(Clock::now());
      if (!message) continue;
      throw_if_failed(*message, processes[i].peer());
      if (!messages[i].is_null()) throw Error(processes[i].peer() + " spoke out of turn");
      messages[i] = std::move(*message);
      --missing;
    }
  }
  return messages;
}

void RunServer::serve(Run& run) {
  const auto processes = static_cast<std::uint32_t>(run.processes.size());
  for (std::uint32_t i = 0; i < processes; ++i) {
    run.processes[i].send(
        {{"accepted", {{"process", i}, {"processes", processes}, {"scenario", rkv::to_json(run.scenario)}}}});
  }
  say(fmt::format("serving {} to {} process{}", run.scenario.name, processes, processes == 1 ? "" : "es"));
  for (;;) {
    // Only the leader speaks between points, but the end of any other is noticed too.
    std::vector<pollfd> fds;
    for (const Connection& process : run.processes) {
      fds.push_back({.fd = process.fd(), .events = POLLIN, .revents = 0});
    }
    fds.push_back({.fd = stop_.fd(), .events = POLLIN, .revents = 0});
    if (::poll(fds.data(), fds.size(), 60'000) < 0 && errno != EINTR) throw Error("poll failed");
    if (stop_.raised()) throw Error("the server was stopped");
    for (std::uint32_t i = 0; i < processes; ++i) {
      if (fds[i].revents == 0) continue;
      const auto message = run.processes[i].receive(Clock::now());
      if (!message) continue;
      throw_if_failed(*message, run.processes[i].peer());
      if (i != 0) throw Error(run.processes[i].peer() + " spoke out of turn");
      if (message->contains("done")) {
        for (std::uint32_t other = 1; other < processes; ++other) run.processes[other].send({{"done", true}});
        return;
      }
      const std::uint32_t most = *std::max_element(run.scenario.clients.begin(), run.scenario.clients.end());
      serve_point(run, static_cast<std::uint32_t>(number(*message, "point", processes, most)));
    }
  }
}

void RunServer::serve_point(Run& run, std::uint32_t clients) {
  const auto processes = static_cast<std::uint32_t>(run.processes.size());
  const bool tcp = run.scenario.transport == Transport::tcp;
  const Port port = ports_(run.scenario);
  ServerPoint point(port, run.scenario, clients, random_token(), limits_.max_memory_bytes);
  for (std::uint32_t i = 0; i < processes; ++i) {
    const ClientShare share = share_of(clients, i, processes);
    nlohmann::json offers = nlohmann::json::array();
    for (std::uint32_t c = 0; c < share.count; ++c) offers.push_back(to_json(point.offer(share.first + c)));
    run.processes[i].send({{"point", {{"clients", clients}, {"offers", std::move(offers)}}}});
  }
  const auto set_up_deadline = Clock::now() + set_up_patience;
  const std::vector<nlohmann::json> ready = gather(run.processes, set_up_deadline, "client set-up");
  if (tcp) {
    point.accept_streams(port.runtime->now() + hello_patience);
  } else {
    for (std::uint32_t i = 0; i < processes; ++i) {
      const ClientShare share = share_of(clients, i, processes);
      const nlohmann::json& endpoints = list(ready[i], "ready", share.count);
      for (std::uint32_t c = 0; c < share.count; ++c) {
        point.connect(share.first + c, endpoint_from_json(endpoints[c]));
      }
    }
  }
  point.start();
  for (Connection& process : run.processes) process.send({{"start", true}});
  const std::vector<nlohmann::json> results =
      gather(run.processes, Clock::now() + limits_.max_duration, "result");
  const ServerResult served = point.collect();
  PointResult merged = point_from_json(member(results[0], "result"));
  for (std::uint32_t i = 1; i < processes; ++i) merge(merged, point_from_json(member(results[i], "result")));
  merged.server = served.usage;
  merged.server_replays = served.counts.replays;
  for (Connection& process : run.processes) process.send({{"result", rkv::to_json(merged)}});
  say(fmt::format("{} clients: {} requests served, {} replayed, {} rejected, {} sessions broken", clients,
                  served.counts.served, served.counts.replays, served.counts.rejected,
                  served.counts.broken_sessions));
}

}  // namespace rkv::control
