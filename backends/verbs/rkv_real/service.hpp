// The two sides of a run, as its leading process has them.
#pragma once

#include <memory>

#include "backends/verbs/control/run_client.hpp"
#include "backends/verbs/control/server_limits.hpp"
#include "backends/verbs/rkv_real/options.hpp"
#include "backends/verbs/rkv_real/ports.hpp"

namespace rkv::real {

// How long a server that is being started may take to answer.
inline constexpr std::chrono::seconds dial_patience{10};

[[nodiscard]] control::ServerLimits limits_of(const Options& options);

// The clients and, in a run of one process, the server.
class Service {
 public:
  // Connects, and waits for the run's other processes. Throws rkv::Error. All of these outlive it.
  Service(const Options& options, const Scenario& scenario, Ports& ports,
          const control::StopSignal& interrupt, const control::RunClient::OnProgress& on_progress);
  ~Service();

  control::RunClient& client() { return client_; }
  void done();  // tells the server, if it is still there

 private:
  class OwnServer;
  control::HostPort server_address(const Options& options, const Scenario& scenario, Ports& ports);

  std::unique_ptr<OwnServer> own_server_;
  control::RunClient client_;
};

// The server that --server names. Throws rkv::InputError.
[[nodiscard]] control::HostPort named_server(const Options& options);

}  // namespace rkv::real
