// Threads, time, counted work and locks on one simulated host.
#pragma once

#include <functional>
#include <memory>

#include "backends/sim/cpu/host.hpp"
#include "backends/sim/engine/simulation.hpp"
#include "core/port/runtime.hpp"

namespace rkv::sim {

class SimRuntime final : public Runtime, private EventHandler {
 public:
  SimRuntime(Simulation& simulation, Host& host) : simulation_(simulation), host_(host) {}

  std::unique_ptr<rkv::Thread> spawn(ThreadSpec spec, std::function<void()> body) override;
  std::unique_ptr<StopFlag> make_stop_flag() override;
  std::unique_ptr<Mutex> make_mutex() override;

  Instant now() override;
  void stamp(Instant& slot) override;
  void sleep_until(Instant deadline, const StopFlag& stop) override;
  void charge(const Work& work) override;
  ThreadUsage usage() override;

  // A try ends the burst, so that it finds the lock as it is at its time; a release is played in its turn.
  [[nodiscard]] bool try_lock(TryLock& lock) override;
  [[nodiscard]] bool try_lock_shared(TryLock& lock) override;
  void unlock(TryLock& lock) override;
  void unlock_shared(TryLock& lock) override;

 private:
  [[nodiscard]] Thread& current() const { return *simulation_.world().current(); }
  void on_event(std::uint64_t tag) override;  // a TryLock's release is played

  Simulation& simulation_;
  Host& host_;
};

}  // namespace rkv::sim
