// The CPUs of one host and what the operating system does across them: where a woken thread runs, idle CPUs
// that pull waiting threads, balancing, interrupts.
//
// Placement is that of Linux in outline (select_task_rq_fair, kernel/sched/fair.c): a woken thread goes to
// the CPU it ran on last if that is idle, else to an idle one of its socket (first with idle siblings; with
// scheduler.idle_cores_only, of the others only the sibling of the CPU it ran on; with EEVDF, only if little
// of the socket is used: looks_for_idle(), load_balance.hpp), else it waits where it was or, with
// scheduler.wake_affine, at its waker's CPU, where that has less to do:
//
//   load of the waker's CPU + the thread's  <  1.08 x (load of the CPU it ran on - the thread's)
//
// (wake_affine_weight(); half the domain's imbalance_pct of 117 over 100 is what 1.08 is, loads:
// load_average.hpp), and neither of the two is wide to the other (wakees.hpp). A waker that is about to
// sleep, as who sends over TCP is taken to be (WF_SYNC, sock_def_readable()), does not count there, and if
// nobody else is there the thread goes to it in any case (wake_affine_idle()). A new thread goes to the least
// loaded CPU of the least loaded socket or, with EEVDF (Linux since 6.6) where no CPU is idle, stays on its
// maker's unless that has more to do (load_balance.hpp). Where the profile says so
// (scheduler.wake_to_interrupt), the CPU of the interrupt that woke it, if idle otherwise, takes the place of
// the one it ran on last (wake_affine() of Linux up to 4.12, whose load of that CPU is then 0), unless that
// CPU is a wide waker to it.
//
// With scheduler.packs_cpus a thread that another one makes or wakes is kept on that one's CPU, though others
// are idle, if nobody else is there and both have used less than 0.7 of it lately. As was seen of a kernel
// 6.18 with sched_vcpu_pack on its command line, whose source is not public (rkv_bench_packing: makers that
// had used 0.02 to 0.7 of their CPU kept 159 of 160 new threads, with 0.8 and 0.9 1 of 40; of woken ones 168
// of 180 came to their waker, whose CPU was little used). A woken one is kept here only if the idle CPU that
// it would go to has been so for 200 us, which that kernel does not ask for: where threads wake each other
// by turns, waking the other's CPU takes so much of their time that there is no room in truth (38 us an
// operation and side in real runs with one client; here 8, and 12 for interrupting the idle CPU, which
// reports leave out).
//
// Threads of other programs, which a profile counts together (scheduler.background_hz), run for a moment or,
// some of them, for long. Those that run for long come back to the CPU where they were last, and some of them
// weigh more than the program on all CPUs (nice below 0; stranger.hpp). Until what such a turn counted has
// faded, other CPUs find too much on that CPU, and take one of the program's threads over at the first or
// third look. Seen in Linux 6.18 with four threads that spin on two CPUs (sched_switch, sched_migrate_task,
// softirq_entry of the balancer's; 100 and 150 s): almost each turn of 1.4 ms of a thread with nice -10, once
// a second, was found by the other CPU's next look, and one in four moved a thread, which was taken back, or
// another one instead, after 0.1 s; CPUs looked each 60 ms, and 28 ms after a look that had found something.
// rkv_bench_moves shows the moves.
//
// Who wakes a thread for another CPU pays for it: scheduler.wake_idle where that is idle, else
// wake_elsewhere, and reschedule if the thread takes it from the one that runs there; wake_other_socket where
// it is of another socket. (An interrupt that wakes pays the last only.) Who wakes one for its own CPU pays
// wake_beside if another CPU of its socket is busy on which the woken thread may run: the kernel looks at
// that one's queue, which it changes all the time (available_idle_cpu(), wake_affine_weight()).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "backends/sim/cpu/core.hpp"
#include "backends/sim/cpu/load_balance.hpp"
#include "backends/sim/cpu/scheduler.hpp"
#include "backends/sim/cpu/turbo.hpp"

namespace rkv::sim {

class Memory;

class Processors final : public EventHandler {
 public:
  // `host` is its number, for the timeline.
  Processors(World& world, const CpuProfile& cpu, const SchedulerProfile& scheduler, std::uint32_t host);
  Processors(const Processors&) = delete;
  Processors& operator=(const Processors&) = delete;

  [[nodiscard]] std::size_t count() const { return cores_.size(); }
  [[nodiscard]] Core& core(std::size_t cpu) { return *cores_[cpu]; }
  // A CPU beside the host's, for a thread of no study. Lives as long as this.
  Core& make_core_apart();

  // Before any thread runs: other programs have used each CPU until some time ago, `longest` at most.
  void begin_used(Ps longest);
  // A new thread, or one that sleeps, becomes ready to run.
  void wake(Thread& thread);
  // An interrupt, at the end of which the handler's on_event(tag) is called. It runs on the profile's
  // interrupt CPU or, where that is -1, on `near`, and takes `entry` and `each` of CPU work there, at the
  // speed that the CPU has when it comes. One that comes while the CPU still handles others is handled behind
  // them without another entry: drivers drain their event queue in a loop (Linux: mlx4_eq_int,
  // mlx5_eq_comp_int).
  void interrupt(const Core& near, Ps entry, Ps each, EventHandler& handler, std::uint64_t tag);

  [[nodiscard]] const SchedulerProfile& scheduler() const { return scheduler_; }
  [[nodiscard]] const SchedulingPolicy& policy() const { return *policy_; }
  [[nodiscard]] int shared_speed_permille() const { return shared_speed_permille_; }
  // The socket's clock over the one that costs are given for.
  [[nodiscard]] int clock_permille(std::uint32_t socket) const { return turbo_.permille(socket); }

  // The part of each CPU's time that interrupts have taken lately, as of its last one.
  [[nodiscard]] const std::vector<double>& interrupted_parts() const { return interrupts_part_; }
  // As if they had taken it up to now.
  void set_interrupted_parts(const std::vector<double>& parts);
  // From now on, in place of the profile's. 0 only where it is 0.
  void set_active_balance(Ps after) { active_balance_ = after; }
  // Of all counts of whom this host's interrupts wake.
  [[nodiscard]] WakeesClock& wakees_clock() { return wakees_clock_; }

  // What threads touch comes from caches that cost this. Outlives the processors.
  void set_memory(const Memory& memory) { memory_ = &memory; }

  // --- of the cores
  // It became busy or idle.
  void changed(const Core& core) { turbo_.changed(core); }
  // For a thread that comes back to a CPU which has run so many others since.
  [[nodiscard]] Ps refill_cost(const Thread& thread, std::uint64_t others) const;
  // A CPU whose running thread has had none of it from one tick to the next, for interrupts, gives the thread
  // to an idle CPU if there is one (Linux: check_cpu_capacity and active balancing, kernel/sched/fair.c).
  void relieve(Core& core);
  // Whether the running thread has been there for scheduler.active_balance, and interrupts have lately taken
  // more than 3/32 of the CPU: it has no capacity left for a thread then (fix_small_capacity()), so that idle
  // CPUs find it too busy, a few times in vain since the thread runs, and then have it pushed to one of them.
  [[nodiscard]] bool pressed(const Core& core) const;
  // A waiting thread of another CPU, for one that became idle; null when there is none.
  Thread* pull_for(Core& idle);
  // It ran so lately that what it touched is thought to be in its CPU's caches (task_hot()), so that no other
  // CPU takes it over at once. With EEVDF: of earlier kernels only the threshold on idle times is modelled.
  [[nodiscard]] bool is_hot(const Thread& thread) const;
  void count_waiting(int change);
  void ran(const Thread& thread, Ps since) const;

  // Loads are kept for wake_affine and where CPUs are balanced by them.
  [[nodiscard]] bool follows_loads() const { return scheduler_.wake_affine || balances_by_load(); }
  // Before a thread begins or ceases to be ready (then 1) or to run (then 1), or leaves the queue in which it
  // lingers.
  void account_load(Thread& thread, double ready, double running) const;
  // Its part of the CPU's load goes with a thread.
  static void move_load(Thread& thread, Core& from, Core& to);

  // Of all that the program has to do on this host, the part that is on this CPU: of its threads now, and of
  // the others' loads, as of their last changes.
  [[nodiscard]] double share_on(const Core& core) const;

  // A thread waits on a CPU although its runner's slice has ended: an idle CPU takes it over (Linux:
  // nohz_balancer_kick).
  void offer_waiting(Core& core);

  // Takes a thread that runs or sleeps to another socket: to an idle CPU there, of an idle core if there is
  // one, or if it runs in exchange for the thread of a CPU drawn at random. Leaves it where it is if neither
  // can be, or where that would make the sockets uneven (numa_balancing.hpp).
  void bring(Thread& thread, std::uint32_t socket);
  // Takes threads to CPUs of this host all at once, whoever is there, as if they had been there for so long.
  // Those that have ended stay.
  struct Seat {
    Thread* thread;
    std::size_t cpu;
    Ps for_so_long;
  };
  void arrange(std::span<const Seat> seats);
  // Where the thread runs, waits for its turn, or ran last.
  [[nodiscard]] Core& core_of(const Thread& thread) const;

  void on_event(std::uint64_t tag) override;  // time to balance, or an interrupt's end

 private:
  struct Interrupt {
    EventHandler* handler;
    std::uint64_t tag;
  };
  [[nodiscard]] bool siblings(const Core& a, const Core& b) const;
  [[nodiscard]] static bool allowed(const Thread& thread, const Core& core);
  Core& place(Thread& thread);
  // This CPU if it is one of the host's, else null.
  [[nodiscard]] Core* of_these(const Core* core) const;
  // The thread that wakes another one now, and its CPU, if that is of this host. Null where none does.
  [[nodiscard]] Thread* waking_thread() const;
  [[nodiscard]] Core* waker() const;
  // Whether a thread for which no idle CPU was found goes to its waker's CPU.
  [[nodiscard]] bool drawn(const Thread& thread, Core& from, Core& waker) const;
  [[nodiscard]] bool looks_for_idle_in(std::uint32_t socket) const;
  // An idle CPU of this one's socket, if there is one and it is looked for.
  [[nodiscard]] Core& idle_beside(Core& core, const Thread& thread) const;
  Core& place_new(const Thread& thread);
  // Where the code of another thread of this host makes a thread now. Null where none does.
  [[nodiscard]] Core* maker() const;
  // That of the other CPUs on which a new thread would rather begin. Null where it may be on none.
  [[nodiscard]] Core* idlest_but(const Core& maker, const Thread& thread);
  [[nodiscard]] CpuLoad load_of(Core& core) const;
  // What threads of other programs add to it, in threads of the program.
  [[nodiscard]] double strangers_load(const Core& core) const;
  // Whether a thread that comes to this CPU, where another one makes or wakes it, is kept there though others
  // are idle (scheduler.packs_cpus).
  [[nodiscard]] bool has_room(Core& core, const Thread& thread) const;
  // A CPU of that socket whose core is idle, or else an idle one; with `sibling_of` only one of the same core
  // then. Null where there is none.
  [[nodiscard]] Core* idle_in(std::uint32_t socket, const Thread& thread,
                              const Core* sibling_of = nullptr) const;
  // That are ready or run there.
  [[nodiscard]] std::size_t threads_in(std::uint32_t socket) const;
  // A CPU there on which a thread runs that may run where this one does. Null where there is none.
  [[nodiscard]] Core* partner_in(std::uint32_t socket, const Thread& thread) const;
  void pay_for_wake(const Core& woken, const Thread& thread);
  // More for who wakes a thread for another CPU.
  [[nodiscard]] Ps cost_of_reaching(const Core& woken) const;
  // Whether this idle CPU has halted.
  [[nodiscard]] bool halts(const Core& idle) const;
  // Until it runs a thread that is woken now.
  [[nodiscard]] Ps wakeup_latency(const Core& idle) const;
  // Whether another CPU of the core's socket is busy on which the thread may run.
  [[nodiscard]] bool is_beside_busy(const Core& core, const Thread& thread) const;
  // Linux reads a run queue's clock as a wake-up begins and, if it preempts, not again for the switch
  // (rq_clock_skip_update(), kernel/sched/core.c). So who wakes a thread of its own CPU, which it has paid
  // for by now, is charged for that only when it was found to go on; else the woken one is, as it is for
  // another CPU's interrupt.
  [[nodiscard]] Ps not_charged_for_waking(const Core& woken) const;
  // Who takes another CPU from its thread for the woken one pays for reaching it.
  [[nodiscard]] Preemption preemption(const Core& woken) const;
  // An interrupt wakes the thread: its CPU counts that, or the thread that runs there.
  void count_wakee(const Thread& woken);
  // The same of who is woken by a thread.
  void count_own_wakee(const Thread& woken) const;
  // Settles its count (wakees.hpp).
  [[nodiscard]] bool is_drawn_to_interrupt(Thread& thread) const;
  // So much more of the CPU goes to its interrupts: until when they have it.
  Ps take_for_interrupts(Core& core, Ps time);
  // Brings both CPUs' accounts up to now, and takes along the load of a thread that does not run.
  void account_move(Thread& thread, Core& from, Core& to);
  // The thread that has waited longest on one CPU of those that may run on the other, taken out of its queue.
  Thread* take_waiting(Core& from, Core& to);
  Thread& take_waiting(Thread& thread, Core& from, Core& to);
  void put(Thread& thread, Core& to);
  void run_or_enqueue(Core& core, Thread& thread) const;
  // Threads of other programs: of all CPUs together, at random.
  void plan_background();
  void plan_background(Ps at);
  void let_others_run();
  void plan_balance();
  void balance();
  [[nodiscard]] bool balances_by_load() const { return scheduler_.kind == SchedulerProfile::Kind::eevdf; }
  void balance_by_load();
  void balance_by_number(Core& here);
  // That it looks at, with one thread more at least, some of which wait. Null where there is none.
  [[nodiscard]] Core* busiest_by_number(const Core& here) const;
  // Whether there was something to take over: for a busy CPU and for an idle one.
  bool takes_over(Core& here);
  bool takes_to_idle(Core& here);
  // Takes its load off what is to be taken.
  bool takes_stranger_over(Core& here, Core& busiest, double& to_take, unsigned looks_in_vain) const;
  [[nodiscard]] bool looks_at(const Core& here, const Core& there) const;
  void exchange_waiting();

  World& world_;
  const Memory* memory_ = nullptr;
  const SchedulerProfile scheduler_;
  Ps active_balance_;  // scheduler.active_balance, or what was set
  WakeesClock wakees_clock_;
  const std::uint32_t host_;
  const int shared_speed_permille_;
  std::unique_ptr<SchedulingPolicy> policy_;
  Turbo turbo_;
  const std::size_t sockets_;
  const std::size_t ways_;
  std::vector<std::unique_ptr<Core>> cores_;
  std::vector<std::unique_ptr<Core>> apart_;
  std::vector<Ps> interrupts_until_;               // a CPU each
  std::vector<double> interrupts_part_;            // a CPU each: of its time, as of the last interrupt
  std::vector<Ps> interrupted_at_;                 // a CPU each: the last one
  std::vector<std::deque<Interrupt>> interrupts_;  // a CPU each: under way, in the order of their ends
  Core* interrupted_ = nullptr;                    // while an interrupt's handler is called: its CPU
  std::vector<unsigned> looks_in_vain_;            // a CPU each: how often in a row there was load to take
                                                   // over, but no thread that is small enough
  int waiting_ = 0;
  Core* long_was_on_ = nullptr;   // where threads of other programs that run for long were last
  Core* heavy_was_on_ = nullptr;  // and those of more weight
  std::size_t turn_ = 0;          // the CPU that balances next, with CFS
  std::vector<Ps> looks_next_;    // a CPU each, with EEVDF: when it balances next, from the first time on
  bool balance_planned_ = false;
  bool background_planned_ = false;
  bool arranging_ = false;  // CPUs that become idle pull nobody
};

}  // namespace rkv::sim
