// What a wait set waits for: a completion queue or a stream. It tells those who wait for it when something
// has arrived, and what looking at it costs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backends/sim/cpu/thread.hpp"
#include "core/port/device.hpp"

namespace rkv::sim {

class PollLock;
class SpinLock;

class Source {
 public:
  // CPU time.
  struct Costs {
    Ps empty_look = 0;     // spinning: a look that finds nothing; more than 0
    Ps blocking_look = 0;  // blocking: such a look before going to sleep
    Ps arm = 0;
    // Blocking: sleeping in the kernel, and the system call where the look is not that call itself.
    Ps fall_asleep = 0;
    Ps event = 0;  // blocking: taking the event that ended a sleep, arming again included
    Spent spent = Spent::poll;
  };
  Source(const Costs& costs, bool blockable) : costs_(costs), blockable_(blockable) {}
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  [[nodiscard]] const Costs& costs() const { return costs_; }
  [[nodiscard]] bool blockable() const { return blockable_; }

  [[nodiscard]] virtual bool ready() const = 0;
  // CPU time of the look that takes `room` completions or as many as are there.
  [[nodiscard]] virtual Ps take_cost(std::size_t room) const = 0;
  // CPU time of each blocking look before it is known whether something is there (select(2)).
  [[nodiscard]] virtual Ps blocking_overhead() const { return 0; }
  // The same once for a whole set, instead of each one's, when it has several sources (epoll_wait(2)).
  [[nodiscard]] virtual Ps multiplexing_overhead() const { return 0; }
  // The lock that a single look takes, where it is modelled, else null.
  [[nodiscard]] virtual SpinLock* lock() { return nullptr; }
  // The same where several threads poll without a pause.
  [[nodiscard]] PollLock* poll_lock() const { return poll_lock_; }
  // Those who poll look anew when they find something: the lock was taken, or is free again.
  void look_again();
  // This thread takes what is there: 0 when another one was quicker.
  virtual std::uint32_t take(Thread& taker, std::span<Completion> out) = 0;

  // Armed: the next arrival makes an event, once. What is armed, or has an event to come or to be taken,
  // needs no arming.
  [[nodiscard]] bool armed() const { return armed_; }
  [[nodiscard]] bool needs_arming() const { return !armed_ && !event_due_ && !event_pending_; }
  void arm() { armed_ = true; }
  [[nodiscard]] bool event_pending() const { return event_pending_; }
  void take_event() { event_pending_ = false; }

  // A thread's operation waits for this, from now until forget().
  void watch(Thread& thread) { watchers_.push_back(&thread); }
  void forget(Thread& thread);
  // A thread sleeps until something arrives.
  [[nodiscard]] bool watcher_sleeps() const;
  // Wakes the last of those who sleep, if there is one.
  void wake_one();
  // Where an interrupt for it is handled, if not on a fixed CPU: where its first watcher runs.
  [[nodiscard]] const Core* core_of_watcher() const;

 protected:
  ~Source() = default;

  void set_costs(const Costs& costs) { costs_ = costs; }
  void set_poll_lock(PollLock* lock) { poll_lock_ = lock; }

  // Something has become visible. Spinning threads find it by themselves, sleeping ones need an event. True
  // when this arrival makes one, so that the caller calls deliver_event() when it has reached the host.
  [[nodiscard]] bool arrived();
  // Wakes one that sleeps, if there is one: epoll wakes the last who fell asleep (fs/eventpoll.c, ep_poll(),
  // which adds waiters at the head).
  void deliver_event();

 private:
  Costs costs_;
  const bool blockable_;
  bool armed_ = false;
  bool event_due_ = false;      // on its way to the host
  bool event_pending_ = false;  // there, and not taken
  PollLock* poll_lock_ = nullptr;
  std::vector<Thread*> watchers_;
};

}  // namespace rkv::sim
