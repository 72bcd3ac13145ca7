// The clock of a socket's cores, which falls as more of them are active (Intel: Turbo Boost; the profile's
// cpu.turbo_ghz has it for 1, 2, ... active cores). A card of the processor decides every 500 us and counts
// as active who ran anything since it last did: Hackenberg, Schöne, Ilsche, Molka, Schuchart, Geyer, "An
// energy efficiency feature survey of the Intel Haswell processor" (IPDPS workshops 2015), section on
// p-states.
//
//   clock = turbo_ghz[active cores],  speed of CPU work = clock / clock_ghz
//
// Work is given at clock_ghz. It is looked at only after a core became busy or idle, so that a host on which
// nothing changes costs no events.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/sim/engine/event_queue.hpp"
#include "backends/sim/engine/time.hpp"
#include "backends/sim/engine/world.hpp"
#include "backends/sim/profile/profile.hpp"

namespace rkv::sim {

class Core;

class Turbo final : public EventHandler {
 public:
  // Cores are told of by add(); they must outlive this, and it the world's last event.
  Turbo(World& world, const CpuProfile& cpu);

  void add(Core& core);
  // A CPU of this core became busy or idle; it is asked which.
  void changed(const Core& core);
  // Clock over clock_ghz.
  [[nodiscard]] int permille(std::uint32_t socket) const { return permille_[socket]; }

  void on_event(std::uint64_t tag) override;  // time to decide

 private:
  static constexpr Ps period = 500'000'000;

  // Of SMT siblings, in one.
  struct Physical {
    std::vector<Core*> cpus;
    bool used = false;  // in this period
  };
  [[nodiscard]] static bool busy(const Physical& core);
  void plan();

  World& world_;
  const std::vector<double> steps_ghz_;
  const double clock_ghz_;
  const std::uint32_t cores_per_socket_;
  std::vector<Physical> cores_;  // socket by socket
  int cpus_ = 0;                 // added; others are apart and of no socket
  std::vector<int> permille_;    // a socket each
  bool planned_ = false;
};

}  // namespace rkv::sim
