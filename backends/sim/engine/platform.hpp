// The profile as a SimGrid platform: hosts, their cables and the switch between them are SimGrid's, and the
// models read them from it.
//
// SimGrid has one platform a process and seals it, so every simulation of a process shares the first one's
// hosts; their cables are set to each one's profile.
#pragma once

#include <cstdint>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "backends/sim/net/network.hpp"
#include "backends/sim/profile/profile.hpp"

namespace rkv::sim {

class Platform {
 public:
  // Host 0 is the server's, the others the clients'; with one_host there is only host 0. Throws rkv::Error
  // when the process's platform has fewer hosts than this profile asks for.
  explicit Platform(const NetworkProfile& profile);

  [[nodiscard]] std::uint32_t host_count() const { return static_cast<std::uint32_t>(hosts_.size()); }
  [[nodiscard]] simgrid::s4u::Host* host(std::uint32_t number) const { return hosts_[number]; }
  // A host each, as the routes between them say.
  [[nodiscard]] const std::vector<Cable>& cables() const { return cables_; }

 private:
  std::vector<simgrid::s4u::Host*> hosts_;
  std::vector<Cable> cables_;
};

// SimGrid itself, one a process, started when first asked for. `configuration` holds options of SimGrid's own
// ("contexts/factory:thread"); only the first call's count. Built with AddressSanitizer, actors are threads
// of their own unless it says otherwise: the sanitizer can't follow the other ways of switching between them.
simgrid::s4u::Engine& simgrid_engine(const std::vector<std::string>& configuration = {});

}  // namespace rkv::sim
