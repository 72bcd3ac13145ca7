// Spinning and blocking on simulated sources.
//
// A spinning thread looks at its sources in turn, each look costing its empty_look, and needs no events while
// it does: when something arrives, the time of the next look at that source follows from how long the thread
// has been spinning on a CPU. A blocking one looks once, arms what is not armed, looks again, and sleeps
// until an event or the deadline; then it takes the event (arming again) and looks. One that awaits the event
// does the same from the sleep on.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/sim/engine/world.hpp"
#include "backends/sim/port/sim_stop_flag.hpp"
#include "backends/sim/port/source.hpp"
#include "core/port/wait.hpp"

namespace rkv::sim {

class SimWaitSet final : public WaitSet {
 public:
  // What blocking begins with. To arm and to sleep are for a set of one queue.
  enum class First : std::uint8_t { look, arm, sleep };

  SimWaitSet(World& world, std::vector<Source*> sources, bool one_queue, SimStopFlag& stop);

  WaitResult spin(std::span<Completion> out, const SpinBudget& budget, Instant deadline) override;
  WaitResult block(std::span<Completion> out, Instant deadline) override;
  WaitResult await_event(std::span<Completion> out, Instant deadline) override;

  // --- of the operations
  [[nodiscard]] const std::vector<Source*>& sources() const { return sources_; }
  [[nodiscard]] SimStopFlag& stop() const { return stop_; }
  // The source that is the order'th to be looked at.
  [[nodiscard]] std::size_t in_order(std::size_t order) const { return (next_ + order) % sources_.size(); }
  // The next scan begins behind this one.
  void begin_behind(std::size_t source) { next_ = (source + 1) % sources_.size(); }

 private:
  WaitResult sleep_until_taken(std::span<Completion> out, Instant deadline, First first);

  World& world_;
  const std::vector<Source*> sources_;
  const bool one_queue_;  // and nothing else
  SimStopFlag& stop_;
  std::size_t next_ = 0;
  bool drained_ = false;  // the last wait left nothing
};

class SimWaitSets final : public WaitSets {
 public:
  explicit SimWaitSets(World& world) : world_(world) {}
  std::unique_ptr<WaitSet> make_wait_set(const WaitSources& sources, const StopFlag& stop) override;

 private:
  World& world_;
};

}  // namespace rkv::sim
