#include "backends/verbs/rkv_real/service.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <thread>

#include "backends/verbs/control/run_server.hpp"
#include "core/error.hpp"

namespace rkv::real {

control::ServerLimits limits_of(const Options& options) {
  return {.max_memory_bytes = options.max_memory_mib << 20,
          .max_threads = options.max_threads,
          .max_duration = std::chrono::seconds(options.max_duration_s),
          .cores = options.cores,
          .client_cores = options.cores};
}

// The server half of a one-process run, on a thread of its own, reached over loopback like any other.
class Service::OwnServer {
 public:
  OwnServer(Ports& ports, const Options& options, const Scenario& scenario)
      : listener_({.host = "127.0.0.1", .port = 0}),
        server_(
            listener_, [&ports](const Scenario& asked) { return ports.port_for(asked); },
            with_cores(limits_of(options), scenario), stop_, false),
        thread_([this] { run(); }) {}
  ~OwnServer() {
    stop_.raise();
    thread_.join();
  }
  OwnServer(const OwnServer&) = delete;
  OwnServer& operator=(const OwnServer&) = delete;

  [[nodiscard]] control::HostPort address() const { return {.host = "127.0.0.1", .port = listener_.port()}; }

 private:
  static control::ServerLimits with_cores(control::ServerLimits limits, const Scenario& scenario) {
    limits.cores = scenario.server.cores;
    limits.client_cores = scenario.client.cores;
    return limits;
  }
  void run() noexcept {
    try {
      server_.serve_run();
    } catch (const std::exception& error) {
      fmt::print(stderr, "rkv-real: the server half failed: {}\n", error.what());
    }
  }

  control::StopSignal stop_;  // not Ctrl-C: that ends the clients, and they end the run
  control::Listener listener_;
  control::RunServer server_;
  std::thread thread_;
};

Service::Service(const Options& options, const Scenario& scenario, Ports& ports,
                 const control::StopSignal& interrupt, const control::RunClient::OnProgress& on_progress)
    : client_(control::dial(server_address(options, scenario, ports), control::Clock::now() + dial_patience,
                            interrupt.fd()),
              interrupt, on_progress) {
  client_.lead(scenario, options.processes);
}

control::HostPort named_server(const Options& options) {
  return control::parse_host_port(options.server, default_port, "--server");
}

Service::~Service() = default;

control::HostPort Service::server_address(const Options& options, const Scenario& scenario, Ports& ports) {
  if (options.role != Role::both) {
    return named_server(options);
  }
  own_server_ = std::make_unique<OwnServer>(ports, options, scenario);
  return own_server_->address();
}

void Service::done() {
  try {
    client_.done();
  } catch (const Error&) {
    // It is gone already, and has been reported.
  }
}

}  // namespace rkv::real
