// Completion strategies: how a thread awaits what it waits for. Each is a short composition of the port's
// primitives; core waits through this class only.
//
//   busy         spin without limit                                              (Troost: direct polling)
//   event        block, one completion an event                                  (Troost: completion events)
//   event_batch  block, up to `batch` completions an event                       (RDMAbox, section 5.2)
//   adaptive     spin up to `empty_polls` empty scans, then block; each find starts the count anew
//                                                                                (RDMAbox, adaptive polling)
//   hybrid       spin for `spin` of CPU time, then block
//   shared       busy or event, on a completion queue that several workers have in common
//
// With `await_event`, those that only block begin with the event: a completion that comes while its event is
// still on its way waits for that (Troost: two context switches an operation on each side however late events
// are). What came with a completion, and may have no event of its own, is given first. A batch that is full
// is followed by one of what was left over.
//
// One thread at a time.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/port/wait.hpp"
#include "core/scenario/scenario.hpp"

namespace rkv {

class Waiter {
 public:
  // `set` must outlive the waiter.
  Waiter(WaitSet& set, const CompletionPolicy& policy);

  // Waits until something arrived, the deadline passed or the set's stop flag was raised. At most `batch`
  // completions are taken at a time in the strategies that have one, else one.
  WaitResult wait(std::span<Completion> out, Instant deadline);
  // One look, whatever the strategy, which takes as many as there is room for: for threads that do something
  // else before they wait, or hand to each other what they took. Wake::budget: nothing was there.
  WaitResult look(std::span<Completion> out);

  // The most completions that one wait takes: callers size their buffers by it.
  [[nodiscard]] static std::uint32_t largest_take(const CompletionPolicy& policy);
  // Whether this strategy blocks, so that its completion queues need a channel.
  [[nodiscard]] static bool blocks(const CompletionPolicy& policy);

 private:
  WaitResult take_left_over(std::span<Completion> out);
  WaitResult wait_for_event(std::span<Completion> out, Instant deadline);

  WaitSet& set_;
  std::uint32_t take_;
  bool spins_;
  bool blocks_;
  SpinBudget budget_;
  std::vector<Completion> taken_;        // await_event: one more than the caller gets
  std::optional<Completion> left_over_;  // that one: it may have no event of its own
};

}  // namespace rkv
