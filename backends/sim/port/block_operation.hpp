// Waiting without the CPU: look, arm, look again, sleep until an event; or begin with a later one of these.
#pragma once

#include "backends/sim/port/wait_operation.hpp"

namespace rkv::sim {

class BlockOperation final : public WaitOperation {
 public:
  BlockOperation(SimWaitSet& set, std::span<Completion> out, Instant deadline, SimWaitSet::First first)
      : WaitOperation(set, out, deadline), first_(first) {}
  Next step(Thread& thread) override;
  void on_signal(Thread& thread) override;

 private:
  enum class Stage : std::uint8_t { begin, taking, passing_on, looked, armed, falling_asleep, asleep };

  Next begin(Thread& thread);
  // Looks at the sources, after so much other work: one step to the taking, or to the verge of sleep.
  Next look(Thread& thread, Ps before);
  Next spend(Thread& thread, Ps work, Spent where, Stage then);
  // Half of what the deadline costs who sleeps until it, if there is one.
  [[nodiscard]] Ps setting_timer(const Thread& thread);
  Next sleep(Thread& thread);
  // Takes the events that are pending, arms their queues again and looks.
  Next take_events(Thread& thread, Ps before);
  [[nodiscard]] bool any_event() const;
  // Whether it leaves completions behind for which a thread sleeps: no event comes for them.
  [[nodiscard]] bool leaves_rest(const Source& from) const;
  Next pass_on_rests(Thread& thread);

  const SimWaitSet::First first_;
  Stage stage_ = Stage::begin;
  std::size_t taking_from_ = 0;
  bool slept_ = false;
  Ps timer_ = 0;              // what each of setting it and taking it back costs; 0 without a deadline
  Core* timer_on_ = nullptr;  // with one: where this fell asleep last
};

}  // namespace rkv::sim
