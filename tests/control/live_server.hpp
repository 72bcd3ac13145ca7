// A server as rkv-real runs it, on a thread, and what its tests say to it: as a client, or byte by byte.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "backends/verbs/control/messages.hpp"
#include "backends/verbs/control/run_client.hpp"
#include "backends/verbs/control/run_server.hpp"
#include "backends/verbs/port/real_port.hpp"
#include "core/error.hpp"
#include "core/scenario/load.hpp"

namespace rkv::test {

// What no step of a test may take longer than; sanitizers and two cores are slow.
inline constexpr std::chrono::seconds patience{60};

inline control::Clock::time_point deadline() {
  return control::Clock::now() + patience;
}

// Every transport's port, made before anything runs.
class TestPorts {
 public:
  TestPorts() : tcp_(options(Transport::tcp)), verbs_(options(Transport::rc)) {}
  Port port(const Scenario& scenario) {
    return scenario.transport == Transport::tcp ? tcp_.port() : verbs_.port();
  }

 private:
  static verbs::RealPortOptions options(Transport transport) {
    verbs::RealPortOptions options;
    options.transport = transport;
    return options;
  }
  verbs::RealPort tcp_;
  verbs::RealPort verbs_;
};

// Serves run after run until it is destroyed.
class LiveServer {
 public:
  explicit LiveServer(control::ServerLimits limits = {})
      : listener_({.host = "127.0.0.1", .port = 0}),
        server_(
            listener_,
            [this](const Scenario& scenario) {
              cores_ = scenario.server.cores;
              return ports_.port(scenario);
            },
            std::move(limits), stop_, false),
        thread_([this] {
          while (server_.serve_run()) ++runs_;
        }) {}
  ~LiveServer() { stop(); }
  LiveServer(const LiveServer&) = delete;
  LiveServer& operator=(const LiveServer&) = delete;

  void stop() {
    stop_.raise();
    if (thread_.joinable()) thread_.join();
  }
  [[nodiscard]] control::HostPort address() const { return {.host = "127.0.0.1", .port = listener_.port()}; }
  [[nodiscard]] control::Connection dial() const { return control::dial(address(), deadline()); }
  [[nodiscard]] int runs() const { return runs_; }
  // Of the last scenario that it took; after stop().
  [[nodiscard]] const std::vector<int>& cores() const { return cores_; }

 private:
  TestPorts ports_;
  control::StopSignal stop_;
  control::Listener listener_;
  std::vector<int> cores_;
  std::atomic<int> runs_{0};
  control::RunServer server_;
  std::thread thread_;
};

// A scenario of a few hundred checked operations, or of an hour.
inline Scenario small_scenario(Transport transport = Transport::tcp, std::uint64_t operations = 300) {
  Scenario scenario;
  scenario.name = "control";
  scenario.transport = transport;
  scenario.exchange = transport == Transport::tcp ? Exchange::socket_socket : Exchange::send_send;
  scenario.completion.mode = CompletionMode::event;
  scenario.clients = {1, 2, 3, 4};
  scenario.load.total_operations = operations;
  scenario.keys.count = 50;
  scenario.check = true;
  return scenario;
}
inline Scenario endless_scenario(Transport transport = Transport::tcp) {
  Scenario scenario = small_scenario(transport, 0);
  scenario.load.duration = std::chrono::minutes(30);
  return scenario;
}

// A client process: its own port, interrupt and connection.
class TestClient {
 public:
  explicit TestClient(const LiveServer& server)
      : client_(server.dial(), interrupt_,
                [this](const control::PointProgress& progress) { operations_.store(progress.operations); }) {}
  control::RunClient& operator*() { return client_; }
  control::RunClient* operator->() { return &client_; }
  void interrupt() { interrupt_.raise(); }
  // In a running point, from any thread.
  void await_operations(std::uint64_t least) const {
    while (operations_.load() < least) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  PointResult run_point(const Scenario& scenario, std::uint32_t clients) {
    return client_.run_point(ports_.port(scenario), scenario, clients);
  }
  // A point of two clients, in the middle of which something happens.
  PointResult run_point_in_which(const std::function<void()>& it_happens, const Scenario& scenario) {
    std::thread person([&] {
      await_operations(20);
      it_happens();
    });
    PointResult point = run_point(scenario, 2);
    person.join();
    return point;
  }
  std::optional<PointResult> follow_point(const Scenario& scenario) {
    return client_.follow_point(ports_.port(scenario), scenario);
  }

 private:
  TestPorts ports_;
  control::StopSignal interrupt_;
  std::atomic<std::uint64_t> operations_{0};
  control::RunClient client_;
};

// Joins a run on a thread of its own and plays a part in it.
class Follower {
 public:
  explicit Follower(const LiveServer& server)
      : client_(server), thread_([this] {
          try {
            const Scenario theirs = client_->join();
            while (auto point = client_.follow_point(theirs)) points_.push_back(std::move(*point));
          } catch (const Error& error) {
            failure_ = error.what();
          }
        }) {}
  ~Follower() {
    client_.interrupt();
    end();
  }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;
  void end() {
    if (thread_.joinable()) thread_.join();
  }
  TestClient& client() { return client_; }
  // After end().
  [[nodiscard]] const std::vector<PointResult>& points() const { return points_; }
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  TestClient client_;
  std::vector<PointResult> points_;
  std::string failure_;
  std::thread thread_;
};

// Shows that the server is alive and well: a whole run, every response checked.
inline PointResult serve_one(const LiveServer& server, const Scenario& scenario = small_scenario()) {
  TestClient client(server);
  client->lead(scenario, 1);
  PointResult point = client.run_point(scenario, 2);
  client->done();
  return point;
}

inline nlohmann::json hello_with(const Scenario& scenario, std::uint64_t processes = 1) {
  return {
      {"common_ground", control::common_ground()}, {"scenario", to_json(scenario)}, {"processes", processes}};
}

// What the server answers, or the reason it gives for refusing.
inline nlohmann::json answer(control::Connection& connection) {
  const auto message = connection.receive(deadline());
  if (!message) throw Error("no answer in time");
  return *message;
}
inline std::string refusal(control::Connection& connection) {
  return answer(connection).value("failed", "not refused");
}

// How a server with these limits refuses a scenario.
inline std::string refused(const control::ServerLimits& limits, const Scenario& scenario,
                           std::uint64_t processes = 1) {
  const LiveServer server(limits);
  control::Connection leader = server.dial();
  leader.send(hello_with(scenario, processes));
  return refusal(leader);
}

// A leader, byte by byte, that has been offered a point of so many clients.
struct Offered {
  control::Connection leader;
  nlohmann::json offers;
};
inline Offered offered(const LiveServer& server, const Scenario& scenario, std::uint32_t clients = 2) {
  control::Connection leader = server.dial();
  leader.send(hello_with(scenario));
  answer(leader).at("accepted");
  leader.send({{"point", clients}});
  nlohmann::json offers = answer(leader).at("point").at("offers");
  return {.leader = std::move(leader), .offers = std::move(offers)};
}

}  // namespace rkv::test
