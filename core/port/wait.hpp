// Waiting, the only way core learns that something arrived. Three primitives, from which every completion
// strategy is made (core/completion/waiter.hpp):
//   spin:        hold the CPU and poll until something arrives, a budget is spent or the deadline passes;
//   block:       arm, look once more, then give the CPU up until an event or the deadline;
//   await_event: the same, but without a look before the event.
// There is no try-poll: a spin with a budget of one scan is it, and simulated time passes in it.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "core/port/device.hpp"
#include "core/port/runtime.hpp"
#include "core/port/stream.hpp"
#include "core/port/time.hpp"

namespace rkv {

// What a spin may cost before it gives up: CPU time (not counted while preempted) or scans of the whole set.
struct SpinBudget {
  Duration cpu_time = Duration::max();
  std::uint64_t scans = std::numeric_limits<std::uint64_t>::max();
};

enum class Wake : std::uint8_t { completions, budget, deadline, stopped };

struct WaitResult {
  Wake wake = Wake::stopped;
  std::uint32_t source = 0;  // index into the set's sources
  std::uint32_t count = 0;   // completions written to `out`, all of this source
};

// What a set waits for, looked at round robin so that none starves.
struct WaitSources {
  std::span<CompletionQueue* const> completion_queues;  // source indices 0 ...
  std::span<Stream* const> streams = {};                // ... continue here ...
  std::span<SlotWatch* const> slots = {};               // ... and here
};

// For one thread at a time. Several sets, each with its thread, may have a completion queue in common; each
// completion goes to one of them. A stream belongs to one set. Nothing arrives twice, nothing is lost: a
// completion that comes between look and sleep wakes. When the stop flag is set and nothing is there to take,
// a wait returns `stopped`; a deadline in the past makes it one look. `out` has room for one completion or
// more. A stream's completion says how many bytes were appended to received(); when it ended, that is told
// once, by status closed. A stream whose receive capacity is used up is not looked at until bytes are
// consumed. One with bytes waiting to be sent makes progress in every wait. Of slots a completion's id is the
// number of one with news: all that have some, from behind the last one on that was given. Each is given
// again until it is taken (SlotWatch::took). A set with slots cannot block: no event tells of a plain WRITE.
//
// await_event() is what ibv_get_cq_event, ibv_req_notify_cq and ibv_poll_cq in this order do: it sleeps until
// the next event of the queue, whatever is in the queue already, then takes what is there. A set of one
// completion queue, for which no other set may wait; with other sources it is block(). It looks first where
// something may be there that has no event: in a queue that was not armed yet (which it arms), and when the
// last wait took as many as it had room for. Room for one more than are there keeps to the events. A deadline
// in the past and a stop are one look, as above; an event whose completion was taken before is followed by a
// look too.
class WaitSet {
 public:
  virtual ~WaitSet() = default;
  virtual WaitResult spin(std::span<Completion> out, const SpinBudget& budget, Instant deadline) = 0;
  virtual WaitResult block(std::span<Completion> out, Instant deadline) = 0;
  virtual WaitResult await_event(std::span<Completion> out, Instant deadline) = 0;
};

class WaitSets {
 public:
  virtual ~WaitSets() = default;
  // Sources and flag must outlive the set. Blocking needs blockable completion queues.
  virtual std::unique_ptr<WaitSet> make_wait_set(const WaitSources& sources, const StopFlag& stop) = 0;
};

// One host's side of the seam, all that core is given. `device` is null for TCP, `streams` for verbs.
struct Port {
  Runtime* runtime = nullptr;
  WaitSets* wait_sets = nullptr;
  Device* device = nullptr;
  StreamNetwork* streams = nullptr;
};

}  // namespace rkv
