// A simulated thread: a SimGrid actor that runs real code, and the account of its time on simulated CPUs.
//
// Burst recording: the actor's code runs in no simulated time. What it costs and does (spend, record, stamp)
// is written down with its offset of CPU time; the next port call that waits or asks for the time ends the
// burst (perform). The CPU then plays the burst, during which the thread can be preempted anywhere, then the
// operation that ended it; when that is done, the actor's code runs on.
//
// The recording half is called by the thread's own actor, the playing half by cores and operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "backends/sim/cpu/load_average.hpp"
#include "backends/sim/cpu/operation.hpp"
#include "backends/sim/cpu/wakees.hpp"
#include "backends/sim/engine/event_queue.hpp"
#include "backends/sim/engine/spent.hpp"
#include "backends/sim/engine/world.hpp"

namespace rkv::sim {

class Core;
class Host;

// A thread's standing with the scheduling policy of its core (scheduler.hpp).
struct Standing {
  Ps virtual_time = 0;
  Ps deadline = 0;     // EEVDF: virtual
  Ps lag = 0;          // EEVDF: what it was owed when it left the queue
  Ps ran = 0;          // since it was last put on the CPU
  Ps unaccounted = 0;  // EEVDF: of the running one's virtual time, since then or the last update()
  // EEVDF: it sleeps, but is in the queue still (RunQueue::lingering). Cleared by who takes it out of there.
  bool lingers = false;
};

class Thread final : public EventHandler {
 public:
  enum class State : std::uint8_t { fresh, running, runnable, sleeping, ended };

  Thread(World& world, Host& host, std::string name, std::vector<int> cpus);
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  // Becomes ready to run for the first time; its code runs when it has a CPU.
  void begin_life();

  // --- recording
  // CPU time goes by.
  void spend(Ps work, Spent where);
  // CPU time of the burst up to here.
  [[nodiscard]] Ps recorded() const { return recorded_; }
  // The effect happens when the burst is played up to here: on_event(tag), with the thread as
  // World::playing().
  void record(EventHandler& effect, std::uint64_t tag);
  // This operation is carried out when the burst is played up to here. It must live until then.
  void record(Operation& operation);
  // Filled in with the time at which the burst is played up to here.
  void stamp(Instant& slot);
  // Ends the burst: plays it, then carries out the operation; returns when that is done.
  void perform(Operation& operation);
  // The same without an operation: after it, World::now() is this thread's time.
  void flush();

  // --- playing
  // The thread is held up on the CPU for so long, at this point of its burst. From an effect only.
  void stall(Ps work, Spent where);
  // CPU time of the operation so far.
  [[nodiscard]] Ps progress() const { return progress_; }
  // Brings progress() up to now, for a thread that is on a CPU.
  void settle();
  // The operation's step() is to be called at this progress instead of what it last asked for.
  void retarget(Ps progress);
  // Ends its sleep. Does nothing unless it sleeps.
  void wake_up();
  // on_signal() of its operation, if it is carrying one out.
  void signal() {
    if (active_ != nullptr) active_->on_signal(*this);
  }
  // What its core tells its operation: it has lost its CPU to another thread, it has one again.
  void preempted() {
    if (active_ != nullptr) active_->on_preempted(*this);
  }
  void resumed() {
    if (active_ != nullptr) active_->on_resumed(*this);
  }
  // signal() at this time; a later call replaces an earlier one. `forever`: none.
  void set_timer(Ps at);

  // What its core calls when the target is reached, and when it has just been given the CPU after a sleep.
  void play();
  [[nodiscard]] Ps target() const { return target_; }
  void advance(Ps work) { progress_ += work; }
  // Stamps up to the progress so far; `now` is the time of that progress, and one unit of work takes
  // 1000 / speed_permille of time.
  void settle_stamps(Ps now, int speed_permille);

  [[nodiscard]] World& world() const { return world_; }
  [[nodiscard]] Host& host() const { return host_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<int>& cpus() const { return cpus_; }
  [[nodiscard]] State state() const { return state_; }
  // A thread of no study, on a CPU of its own.
  [[nodiscard]] bool apart() const { return apart_; }
  void set_apart(Core& own_core);
  // Sets a point up, on the host where the point's threads are. What it waits for is no part of operations.
  // It is on its CPU without a wake-up, since it waits for its own timer most of the time, whose interrupt
  // ends the CPU's idling before the thread is ready: else that CPU would be busy, as others see it, for as
  // long as a wake-up takes. (Threads that it makes, if CPUs are idle, come that much too soon.)
  bool sets_up = false;

  // --- the scheduler's
  void set_state(State state) { state_ = state; }
  // CPU time.
  void charge(Ps time) {
    cpu_time += time;
    standing.virtual_time += time;
    standing.unaccounted += time;
  }
  Core* core = nullptr;  // where it runs or ran last
  Standing standing;
  LoadAverage load;                   // up to when it last went to sleep or woke up
  std::uint64_t switches_before = 0;  // of its core, when it left the CPU
  bool looks_first = false;           // it was woken to look for something to do
  Ps gone = 0;                        // what its own lines, which others' have displaced, will cost it then
  std::uint64_t footprint_bytes = 0;  // what it touches between two switches; 0: as the host's threads do
  Ps more_behind_another = 0;         // to come on, for what it does: behind another thread
  Ps more_after_idle = 0;             // on a CPU that was idle
  Ps queued_since = 0;                // while runnable
  Ps woken_at = -1;                   // while on its way from a wake-up to the CPU
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;
  Ps cpu_time = 0;
  Ps came_at = 0;  // to the CPU that it runs on or ran on last
  Ps ran_until = -forever / 2;
  bool walked_lately = false;  // numa_balancing.hpp
  Wakees wakees;               // of interrupts, while it ran
  Wakees own_wakees;           // whom it woke itself
  double message_byte = 0;     // CPU time in Ps of reading each byte of the message that it took last

  // --- the runtime's: threads as actors (port/sim_runtime.cpp)
  Ps started_at = 0;
  std::function<void()> suspend;  // gives the actor's turn up until it is resumed
  std::function<void()> resume;   // lets the actor run on
  std::vector<Thread*> joiners;
  std::size_t stop_place = 0;  // among those that watch the same stop flag (port/sim_stop_flag.hpp)
  std::exception_ptr failure;

  void on_event(std::uint64_t tag) override;  // its timer

 private:
  struct Item {
    Ps offset;
    EventHandler* effect;
    Operation* operation;
    std::uint64_t tag;
  };
  struct Stamp {
    Ps offset;
    Instant* slot;
  };

  void aim();
  // Steps the active operation until it works, sleeps or is done. True when it is done.
  bool carry_out();
  void begin(Operation& operation);
  void finish();

  World& world_;
  Host& host_;
  const std::string name_;
  const std::vector<int> cpus_;
  State state_ = State::fresh;
  bool apart_ = false;

  // The burst. While one is played, offsets are counted with what stalled it so far.
  std::vector<Item> items_;
  std::vector<Stamp> stamps_;
  std::size_t next_item_ = 0;
  std::size_t next_stamp_ = 0;
  Ps recorded_ = 0;
  Ps stalled_ = 0;
  Ps burst_progress_ = 0;        // kept while an operation has progress_
  Operation* last_ = nullptr;    // ends the burst
  Operation* active_ = nullptr;  // is being carried out
  Ps progress_ = 0;
  Ps target_ = forever;

  Ps timer_at_ = forever;
  Ps timer_planned_ = forever;  // the earliest event that is in the queue
};

}  // namespace rkv::sim
