// Asks simulated threads to end. A request takes effect at once, in no simulated time.
#pragma once

#include <vector>

#include "backends/sim/cpu/thread.hpp"
#include "core/port/runtime.hpp"

namespace rkv::sim {

class SimStopFlag final : public StopFlag {
 public:
  void request() override;
  [[nodiscard]] bool requested() const override { return requested_; }

  // The thread's operation gets on_signal() when the flag is raised, until forget(). A thread watches one
  // flag at a time; both take the same time however many do.
  void watch(Thread& thread);
  void forget(Thread& thread);

 private:
  bool requested_ = false;
  std::vector<Thread*> watchers_;
};

// What core was given as a StopFlag. Throws rkv::Error when another backend made it.
[[nodiscard]] SimStopFlag& sim_stop_flag(const StopFlag& flag);

}  // namespace rkv::sim
