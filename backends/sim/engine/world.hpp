// One simulated world: its clock, what is planned in it, which of its threads' code has to run now.
//
// Models (CPUs, cards, links) plan events here and handle them; simulated threads are SimGrid actors, which
// the world does not run itself: advance() handles events until the code of some thread must run, and
// simgrid_model.hpp hands those threads to SimGrid. Everything happens in one OS thread at a time, so nothing
// here is locked.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "backends/sim/engine/event_queue.hpp"
#include "backends/sim/engine/spent.hpp"
#include "backends/sim/engine/time.hpp"
#include "core/workload/rng.hpp"

namespace rkv::sim {

class Thread;
class Timeline;

class World {
 public:
  explicit World(std::uint64_t seed) : rng_(seed, 0, Purpose::models) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] Ps now() const { return now_; }
  // Plans an event, not before now.
  void at(Ps when, EventHandler& handler, std::uint64_t tag) { events_.push(now_, when, handler, tag); }

  // Handles events until one has made a thread's code run (take_woken() is not empty then) or hand_over() was
  // called, or none is left before `limit`, to which the clock is set then (`forever`: it stays). False when
  // nothing is planned any more.
  bool advance(Ps limit);
  // As advance(), one event at a time: the cross-check.
  bool step(Ps limit);

  // The code of this thread is to run now, before any other event.
  void wake(Thread& thread) { woken_.push_back(&thread); }
  // SimGrid itself has something to do at this time, before any other event.
  void hand_over() { handed_over_ = true; }
  // Those to run, in the order of their waking; forgets them. What was handed over is SimGrid's then.
  void take_woken(std::vector<Thread*>& out);

  // The thread whose code runs. Null outside of all of them.
  [[nodiscard]] Thread* current() const { return current_; }
  void set_current(Thread* thread) { current_ = thread; }

  // The thread whose burst's effect is being played. Null outside of effects.
  [[nodiscard]] Thread* playing() const { return playing_; }
  void set_playing(Thread* thread) { playing_ = thread; }

  // The thread that caused, a while ago, what happens now outside of its effects. Null where a card or
  // a timer did.
  [[nodiscard]] Thread* cause() const { return cause_; }
  // Whether it told the kernel that it is about to sleep (Linux: WF_SYNC).
  [[nodiscard]] bool cause_sleeps() const { return cause_sleeps_; }
  void set_cause(Thread* thread, bool sleeps = false) {
    cause_ = thread;
    cause_sleeps_ = sleeps;
  }

  // Of the models: losses, caches. The workload has streams of its own.
  [[nodiscard]] Rng& rng() { return rng_; }
  [[nodiscard]] SpentTimes& spent() { return spent_; }
  // Null: no timeline is kept.
  [[nodiscard]] Timeline* timeline() const { return timeline_; }
  void set_timeline(Timeline* timeline) { timeline_ = timeline; }

  // Called now and then, by wall time: shows progress, passes on Ctrl-C.
  void set_heartbeat(std::function<void()> heartbeat) { heartbeat_ = std::move(heartbeat); }

  [[nodiscard]] std::uint64_t events_handled() const { return handled_; }

 private:
  static constexpr std::uint64_t events_a_heartbeat = 1 << 16;

  void handle_next();
  [[nodiscard]] bool must_stop() const { return !woken_.empty() || handed_over_; }
  // No event is to be handled up to there. The clock is set to it.
  [[nodiscard]] bool next_is_later(Ps limit);

  Ps now_ = 0;
  EventQueue events_;
  std::vector<Thread*> woken_;
  bool handed_over_ = false;
  Thread* current_ = nullptr;
  Thread* playing_ = nullptr;
  Thread* cause_ = nullptr;
  bool cause_sleeps_ = false;
  Rng rng_;
  SpentTimes spent_;
  Timeline* timeline_ = nullptr;
  std::function<void()> heartbeat_;
  std::uint64_t handled_ = 0;
};

}  // namespace rkv::sim
