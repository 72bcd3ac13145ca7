// One simulated host: its CPUs and memory, and what things cost there.
#pragma once

#include <cstdint>
#include <string>

#include "backends/sim/cpu/memory.hpp"
#include "backends/sim/cpu/numa_balancing.hpp"
#include "backends/sim/cpu/processors.hpp"
#include "backends/sim/profile/profile.hpp"
#include "core/scenario/scenario.hpp"

namespace rkv::sim {

class Host {
 public:
  Host(World& world, std::string name, const HostProfile& profile, std::uint32_t number);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint32_t number() const { return number_; }
  // CPU costs at this host's clock.
  [[nodiscard]] const HostProfile& costs() const { return costs_; }
  [[nodiscard]] const VerbsProfile& verbs(Transport transport) const;
  [[nodiscard]] Processors& cpus() { return cpus_; }
  [[nodiscard]] Memory& memory() { return memory_; }
  [[nodiscard]] NumaBalancing& numa_balancing() { return numa_balancing_; }

 private:
  const std::string name_;
  const std::uint32_t number_;
  const HostProfile costs_;
  Processors cpus_;
  Memory memory_;
  NumaBalancing numa_balancing_;
};

}  // namespace rkv::sim
