// One simulated CPU (a hardware thread): who runs on it, who waits for it, and until when it goes on.
//
// It plans two kinds of event: the milestone, at which the running thread reaches its target, and, only while
// others wait or linger in its queue, the tick at which its slice may end. A thread that spins has no target,
// so it costs no events.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/sim/cpu/load_average.hpp"
#include "backends/sim/cpu/scheduler.hpp"
#include "backends/sim/cpu/stranger.hpp"
#include "backends/sim/cpu/thread.hpp"
#include "backends/sim/cpu/wakees.hpp"
#include "backends/sim/engine/world.hpp"

namespace rkv::sim {

class Processors;

// How a woken thread comes to take a CPU: what that takes before the switch, and what the woken thread is
// charged for beside the switch.
struct Preemption {
  Ps interrupt = 0;
  Ps charged = 0;
};

class Core final : public EventHandler {
 public:
  Core(World& world, Processors& processors, int cpu, std::uint32_t socket);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  [[nodiscard]] int cpu() const { return cpu_; }
  [[nodiscard]] std::uint32_t socket() const { return socket_; }
  // By switching, or by interrupts, before the running thread goes on.
  [[nodiscard]] Ps occupied_until() const { return current_ == nullptr ? 0 : segment_start_; }
  [[nodiscard]] bool idle() const { return current_ == nullptr; }
  [[nodiscard]] Thread* current() const { return current_; }
  [[nodiscard]] bool siblings_idle() const;
  // How long it was idle at a time, lately (Linux: avg_idle of the run queue, kernel/sched/core.c).
  [[nodiscard]] Ps mean_idle_time() const { return mean_idle_time_; }
  [[nodiscard]] LoadAverage& load() { return load_; }
  [[nodiscard]] const Stranger& stranger() const { return stranger_; }
  // For how long it has been idle now; 0 when it is not.
  [[nodiscard]] Ps idle_for() const { return idle_since_ < 0 ? 0 : world_.now() - idle_since_; }
  // It is on its way to the next thread: through an interrupt, or out of idleness. Whoever is woken for it
  // meanwhile waits, and nobody interrupts it once more (resched_curr()).
  [[nodiscard]] bool switches() const { return current_ != nullptr && switched_at_ > world_.now(); }
  [[nodiscard]] bool comes_to_life() const { return was_idle_ && switches(); }
  // Whom interrupts have woken while it was idle.
  [[nodiscard]] Wakees& idle_wakees() { return idle_wakees_; }
  // Of sleeping threads, as many as have a deadline and fell asleep here.
  void set_sleep_timer() { ++sleep_timers_; }
  void take_back_sleep_timer() { --sleep_timers_; }
  [[nodiscard]] bool has_sleep_timer() const { return sleep_timers_ > 0; }
  // That wait and run; and with those that linger.
  [[nodiscard]] std::size_t threads() const { return queue_.waiting.size() + (idle() ? 0 : 1); }
  [[nodiscard]] std::size_t queued() const { return threads() + queue_.lingering.size(); }
  [[nodiscard]] RunQueue& queue() { return queue_; }

  // Siblings share the core's units: each is slower while another is busy.
  void add_sibling(Core& sibling) { siblings_.push_back(&sibling); }

  // Runs a thread on this idle CPU, which needs `latency` to come to life. The thread is charged for so much
  // beside the switch.
  void run(Thread& thread, Ps latency, Ps charged = 0);
  // One who lingers in the queue is awake, and about to wait.
  void requeue(Thread& thread);
  // Another thread waits for this busy CPU.
  void enqueue(Thread& thread);
  // A thread of the program has come to its queue or left it, those that linger counted. Whether that placed
  // the program anew beside a stranger.
  bool weigh();
  // The running thread goes back to the queue, at once or as soon as it is not in the middle of an effect.
  void preempt(Preemption by);
  // The running thread lets others go first, when it has played its step (sched_yield(2)).
  void yield();
  // The running thread's code has run and its burst can be played.
  void resume_current() { plan(); }
  // Plans the milestone anew.
  void plan();
  // Accounts for what the running thread did up to now.
  void settle();
  // The running thread leaves for another CPU.
  Thread& give_away(Core& to);
  // The policy compares with what each thread has had up to now, the running one as well: Linux accounts for
  // it at each tick (update_curr()), a CPU here whenever somebody is to be placed. `not_charged` is what the
  // running one has had and is not charged for yet.
  void update_queue(Ps not_charged = 0);
  // Its siblings, or its socket's clock, have changed.
  void update_speed();
  // Of CPU work, were it alone on its core.
  [[nodiscard]] int clock_permille() const;
  // How long this work takes it at its present speed.
  [[nodiscard]] Ps duration_of(Ps work) const { return time_of(work, speed_permille_); }
  // A thread of another program runs for so long. Whoever had the CPU waits for it like the others then. For
  // CPUs that are not occupied.
  void interject(Ps time);
  // The same of one that weighs so many times as much, and leaves the queue at once (stranger.hpp).
  void interject(Ps time, double weight);
  // A thread of another program that lingers there comes to this CPU.
  void take_stranger(Core& from);
  // An interrupt takes this CPU time away from the running thread.
  void steal(Ps time);
  // The running thread wakes another one for so long, even if it sleeps then or loses the CPU.
  void wake_others(Ps time);

  void on_event(std::uint64_t tag) override;

  // Before those in its queue become more or fewer.
  void account_load();

 private:
  // To a thread of another program, for so long. Not where nobody runs, or while it is occupied.
  bool gives_way(Ps time);
  void reach_milestone();
  void end_tick();
  void end_slice();
  Thread& take_off();
  void leave(Thread& thread);
  void put_back(Preemption by = {});
  void vacate();
  // The next to run, out of waiting; who lingers and comes before it leaves the queue. Null where nobody
  // waits.
  [[nodiscard]] Thread* pick_ready();
  void stay_on();
  void pick_next(Preemption by = {});
  void plan_tick();
  void end_idle_time();
  [[nodiscard]] bool starved_for_a_tick() const;
  void set_busy_for_siblings();

  World& world_;
  Processors& processors_;
  const int cpu_;
  const std::uint32_t socket_;
  std::vector<Core*> siblings_;
  RunQueue queue_;
  Stranger stranger_;
  LoadAverage load_;
  Wakees idle_wakees_;
  std::uint32_t sleep_timers_ = 0;
  Thread* current_ = nullptr;
  Thread* last_ = nullptr;  // who ran before; no switch is paid to go on with it
  Ps waking_until_ = 0;     // who ran last woke others
  Ps switched_at_ = 0;      // when what came before the last switch was over
  bool was_idle_ = true;    // before that
  Ps segment_start_ = 0;    // since when the running thread has been running undisturbed; may be yet to come
  Ps running_since_ = 0;    // for the timeline
  Ps progressed_at_ = 0;    // when the running thread last had the CPU, or was put on it
  Ps idle_since_ = 0;       // -1: it is not idle
  Ps mean_idle_time_;
  int speed_permille_ = full_speed_permille;
  bool playing_ = false;  // inside the running thread's play()
  std::optional<Preemption> must_preempt_;
  bool tick_planned_ = false;
  std::uint64_t switches_ = 0;   // to another thread
  std::uint64_t milestone_ = 0;  // the number of the milestone that is valid
  std::uint64_t tick_ = 0;
};

}  // namespace rkv::sim
