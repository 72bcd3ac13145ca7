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

// How long peers may take to set up their clients, to open their data connections, to hand in their results
// after the longest run, and to ask for the next point.
constexpr std::chrono::seconds set_up_patience{120};
constexpr std::chrono::seconds data_connection_patience{10};
constexpr std::chrono::seconds result_patience{30};
constexpr std::chrono::minutes next_point_patience{10};
constexpr std::size_t line_bytes = 4000;

std::uint64_t random_token() {
  std::uint64_t token = 0;
  if (::getrandom(&token, sizeof token, 0) != sizeof token) throw Error("getrandom gave nothing");
  return token;
}

// Why a process's result is only a part of what it was to do; empty when it is not, or is no result.
std::string early_end(const nlohmann::json& message) {
  const auto result = message.find("result");
  if (result == message.end()) return {};
  const auto reason = result->find("partial_reason");
  if (reason == result->end() || !reason->is_string()) return {};
  return printable(reason->get_ref<const std::string&>(), reason_bytes);
}

}  // namespace

RunServer::RunServer(Listener& listener, PortFor ports, ServerLimits limits, const StopSignal& stop,
                     bool talks)
    : ports_(std::move(ports)),
      limits_(std::move(limits)),
      stop_(stop),
      talks_(talks),
      lobby_(
          listener, stop,
          [this](const nlohmann::json& hello, const std::string& peer) {
            return accept_scenario(hello, peer);
          },
          [this](const std::string& line) { say(line); }) {}

void RunServer::say(const std::string& line) const {
  if (talks_) fmt::print(stderr, "rkv-real server: {}\n", printable(line, line_bytes));
}

Scenario RunServer::accept_scenario(const nlohmann::json& hello, const std::string& peer) const {
  Scenario scenario = parse_scenario(member(hello, "scenario").dump(), "the scenario from " + peer);
  scenario.server.cores = limits_.cores;
  check_limits(scenario, limits_, static_cast<std::uint32_t>(number(hello, "processes", 1, most_processes)));
  const Port port = ports_(scenario);
  if (port.device != nullptr) check_against_device(scenario, *port.device, scenario.name);
  return scenario;
}

bool RunServer::serve_run() {
  std::optional<Run> run = lobby_.next_run();
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

void RunServer::wait_for_any(const std::vector<Connection>& processes, const Doorbell* bell) const {
  std::vector<pollfd> fds{{.fd = stop_.fd(), .events = POLLIN, .revents = 0}};
  if (bell != nullptr) fds.push_back({.fd = bell->fd(), .events = POLLIN, .revents = 0});
  for (const Connection& process : processes) {
    fds.push_back({.fd = process.fd(), .events = POLLIN, .revents = 0});
  }
  constexpr int look_again_ms = 1000;  // at the deadline
  if (::poll(fds.data(), fds.size(), look_again_ms) < 0 && errno != EINTR) throw Error("poll failed");
  if (stop_.raised()) throw Error("the server was stopped");
}

std::vector<nlohmann::json> RunServer::gather(std::vector<Connection>& processes, Clock::time_point deadline,
                                              const char* awaited, const Meanwhile* meanwhile) const {
  std::vector<nlohmann::json> messages(processes.size());
  std::size_t missing = processes.size();
  for (;;) {
    // A process that has answered is still watched for its end. What came behind a message is here already,
    // where no poll tells of it.
    for (std::size_t i = 0; i < processes.size(); ++i) {
      while (auto message = processes[i].receive(Clock::now())) {
        throw_if_failed(*message, processes[i].peer());
        if (!messages[i].is_null()) throw Error(processes[i].peer() + " spoke out of turn");
        if (meanwhile != nullptr && meanwhile->reconnections.take(i, *message)) continue;
        messages[i] = std::move(*message);
        --missing;
        const std::string early = early_end(messages[i]);
        if (early.empty()) continue;
        for (std::size_t other = 0; other < processes.size(); ++other) {
          if (messages[other].is_null())
            processes[other].send({{"stop", "another client process ended early: " + early}});
        }
      }
    }
    if (missing == 0) return messages;
    if (meanwhile != nullptr && meanwhile->bell.rung()) meanwhile->reconnections.look();
    wait_for_any(processes, meanwhile == nullptr ? nullptr : &meanwhile->bell);
    if (Clock::now() >= deadline) throw Error(fmt::format("no {} in time", awaited));
  }
}

void RunServer::serve(Run& run) {
  const auto processes = static_cast<std::uint32_t>(run.processes.size());
  for (std::uint32_t i = 0; i < processes; ++i) {
    run.processes[i].send(
        {{"accepted", {{"process", i}, {"processes", processes}, {"scenario", rkv::to_json(run.scenario)}}}});
  }
  say(fmt::format("serving {} to {} process{}", run.scenario.name, processes, processes == 1 ? "" : "es"));
  Clock::time_point deadline = Clock::now() + next_point_patience;
  for (;;) {
    // Only the leader speaks between points, but the end of any other is noticed too.
    for (std::uint32_t i = 0; i < processes; ++i) {
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
      deadline = Clock::now() + next_point_patience;
    }
    wait_for_any(run.processes);
    if (Clock::now() >= deadline) {
      throw Error(fmt::format("no next point was asked for within {} min", next_point_patience.count()));
    }
  }
}

void RunServer::serve_point(Run& run, std::uint32_t clients) {
  const auto processes = static_cast<std::uint32_t>(run.processes.size());
  const bool tcp = run.scenario.transport == Transport::tcp;
  const Port port = ports_(run.scenario);
  Scenario scenario = run.scenario;
  scenario.client.cores = limits_.client_cores;  // of clients on this side
  Doorbell bell;
  const auto point = make_server_side(port, scenario,
                                      {.clients = clients,
                                       .processes = processes,
                                       .token = random_token(),
                                       .store_bytes = limits_.max_memory_bytes,
                                       .on_link_down = [&bell] { bell.ring(); }});
  for (std::uint32_t i = 0; i < processes; ++i) {
    const ConnectionRange its = point->connections_of(client_share(clients, i, processes));
    nlohmann::json offers = nlohmann::json::array();
    for (std::uint32_t c = 0; c < its.count; ++c) offers.push_back(to_json(point->offer(its.first + c)));
    run.processes[i].send({{"point", {{"clients", clients}, {"offers", std::move(offers)}}}});
  }
  const auto set_up_deadline = Clock::now() + set_up_patience;
  const std::vector<nlohmann::json> ready = gather(run.processes, set_up_deadline, "client set-up");
  for (std::uint32_t i = 0; i < processes; ++i) {
    const ConnectionRange its = point->connections_of(client_share(clients, i, processes));
    const nlohmann::json& endpoints = list(ready[i], "ready", tcp ? 0 : its.count);
    for (std::uint32_t c = 0; !tcp && c < its.count; ++c) {
      point->connect(its.first + c, endpoint_from_json(endpoints[c]));
    }
  }
  if (tcp) point->accept_streams(port.runtime->now() + data_connection_patience);
  point->start();
  for (Connection& process : run.processes) process.send({{"start", true}});
  say(fmt::format("{} clients: connected and started", clients));
  Reconnections reconnections(point->links(), run.processes, clients);
  const Meanwhile meanwhile{.bell = bell, .reconnections = reconnections};
  const std::vector<nlohmann::json> results =
      gather(run.processes, Clock::now() + limits_.max_duration + result_patience, "result", &meanwhile);
  const ServerResult served = point->collect();
  PointResult merged = merged_results(run, clients, results);
  add_server(merged, served);
  for (Connection& process : run.processes) process.send({{"result", rkv::to_json(merged)}});
  if (run.scenario.workload == Workload::verbs) {
    say(fmt::format("{} clients: ended, {} messages received", clients, served.counts.served));
  } else {
    say(fmt::format("{} clients: {} requests served, {} replayed, {} rejected, {} sessions broken", clients,
                    served.counts.served, served.counts.replays, served.counts.rejected,
                    served.counts.broken_sessions));
  }
}

PointResult RunServer::merged_results(const Run& run, std::uint32_t clients,
                                      const std::vector<nlohmann::json>& results) const {
  const auto processes = static_cast<std::uint32_t>(run.processes.size());
  PointResult merged;
  for (std::uint32_t i = 0; i < processes; ++i) {
    const PointResult result = point_from_json(member(results[i], "result"));
    const ClientShare share = client_share(clients, i, processes);
    for (const ClientResult& client : result.per_client) {
      if (client.client < share.first || client.client - share.first >= share.count) {
        throw Error(fmt::format("{} sent a result of client {}, which is not one of its own",
                                run.processes[i].peer(), client.client));
      }
    }
    merge(merged, result);
  }
  merged.clients = clients;
  return merged;
}

}  // namespace rkv::control
