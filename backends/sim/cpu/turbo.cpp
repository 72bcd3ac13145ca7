#include "backends/sim/cpu/turbo.hpp"

#include <algorithm>
#include <cmath>

#include "backends/sim/cpu/core.hpp"

namespace rkv::sim {

Turbo::Turbo(World& world, const CpuProfile& cpu)
    : world_(world),
      steps_ghz_(cpu.turbo_ghz),
      clock_ghz_(cpu.clock_ghz),
      cores_per_socket_(cpu.cores_per_socket),
      cores_(std::size_t{cpu.sockets} * cpu.cores_per_socket),
      permille_(cpu.sockets, full_speed_permille) {}

void Turbo::add(Core& core) {
  cores_[static_cast<std::size_t>(core.cpu()) % cores_.size()].cpus.push_back(&core);
  cpus_ = std::max(cpus_, core.cpu() + 1);
}

bool Turbo::busy(const Physical& core) {
  return std::any_of(core.cpus.begin(), core.cpus.end(), [](const Core* cpu) { return !cpu->idle(); });
}

void Turbo::changed(const Core& core) {
  if (steps_ghz_.empty() || core.cpu() >= cpus_) return;
  cores_[static_cast<std::size_t>(core.cpu()) % cores_.size()].used = true;
  plan();
}

void Turbo::plan() {
  if (planned_) return;
  planned_ = true;
  world_.at((world_.now() / period + 1) * period, *this, 0);
}

void Turbo::on_event(std::uint64_t) {
  planned_ = false;
  bool some_ended = false;
  for (std::uint32_t socket = 0; socket < permille_.size(); ++socket) {
    std::size_t active = 0;
    for (std::uint32_t i = 0; i < cores_per_socket_; ++i) {
      Physical& core = cores_[socket * cores_per_socket_ + i];
      const bool is_busy = busy(core);
      active += core.used || is_busy ? 1 : 0;
      some_ended |= core.used && !is_busy;
      core.used = false;
    }
    const std::size_t step = std::clamp<std::size_t>(active, 1, steps_ghz_.size()) - 1;
    const int clock = static_cast<int>(std::lround(steps_ghz_[step] / clock_ghz_ * full_speed_permille));
    if (clock == permille_[socket]) continue;
    permille_[socket] = clock;
    for (std::uint32_t i = 0; i < cores_per_socket_; ++i) {
      for (Core* cpu : cores_[socket * cores_per_socket_ + i].cpus) cpu->update_speed();
    }
  }
  if (some_ended) plan();  // for the clock without them
}

}  // namespace rkv::sim
