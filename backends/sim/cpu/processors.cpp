#include "backends/sim/cpu/processors.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "backends/sim/cpu/memory.hpp"
#include "backends/sim/cpu/numa_balancing.hpp"
#include "backends/sim/engine/timeline.hpp"

namespace rkv::sim {
namespace {

constexpr std::uint64_t balance_tag = 0;  // that of an interrupt's end is its CPU + 2
constexpr std::uint64_t background_tag = 1;
constexpr std::uint64_t first_cpu_tag = 2;
constexpr double affine_bias = 1.08;
// Linux: scale_rt_power(), sched_avg_period().
constexpr double interrupts_average_ps = 0.5e12;
constexpr double most_interrupts = 3.0 / 32;
// How long a thread of another program runs, of most.
constexpr Ps moment = 10'000'000;
// Of a kernel that packs CPUs.
constexpr double room = 0.7;
constexpr Ps idle_for_long = 200'000'000;
// sysctl_sched_migration_cost.
constexpr Ps hot_for = 500'000'000;

}  // namespace

Processors::Processors(World& world, const CpuProfile& cpu, const SchedulerProfile& scheduler,
                       std::uint32_t host)
    : world_(world),
      scheduler_(scheduler),
      active_balance_(scheduler.active_balance),
      host_(host),
      shared_speed_permille_(static_cast<int>(std::lround(cpu.smt_throughput * full_speed_permille))),
      policy_(make_policy(scheduler)),
      turbo_(world, cpu),
      sockets_(cpu.sockets),
      ways_(cpu.smt_ways) {
  const std::uint32_t cores = cpu.sockets * cpu.cores_per_socket;
  for (std::uint32_t n = 0; n < cores * cpu.smt_ways; ++n) {
    cores_.push_back(
        std::make_unique<Core>(world, *this, static_cast<int>(n), n % cores / cpu.cores_per_socket));
  }
  for (std::uint32_t n = 0; n < cores_.size(); ++n) {
    for (std::uint32_t way = 0; way < cpu.smt_ways; ++way) {
      const std::uint32_t other = n % cores + way * cores;
      if (other != n) cores_[n]->add_sibling(*cores_[other]);
    }
  }
  for (const auto& core : cores_) turbo_.add(*core);
  interrupts_until_.resize(cores_.size());
  interrupts_.resize(cores_.size());
  interrupts_part_.resize(cores_.size());
  interrupted_at_.resize(cores_.size());
  looks_in_vain_.resize(cores_.size());
  if (scheduler.wake_to_interrupt) {
    for (const auto& core : cores_) core->idle_wakees().since = began_some_time_before(world.rng());
  }
}

Core& Processors::make_core_apart() {
  if (Timeline* timeline = world_.timeline()) {
    timeline->name_row(host_, static_cast<std::uint32_t>(cores_.size()), "apart");
  }
  return *apart_.emplace_back(std::make_unique<Core>(world_, *this, static_cast<int>(cores_.size()), 0));
}

bool Processors::siblings(const Core& a, const Core& b) const {
  const auto cores = static_cast<int>(cores_.size() / ways_);
  return a.cpu() % cores == b.cpu() % cores;
}

bool Processors::allowed(const Thread& thread, const Core& core) {
  return thread.cpus().empty() ||
         std::find(thread.cpus().begin(), thread.cpus().end(), core.cpu()) != thread.cpus().end();
}

Core* Processors::maker() const {
  return of_these(world_.current() == nullptr ? nullptr : world_.current()->core);
}

CpuLoad Processors::load_of(Core& core) const {
  core.account_load();
  CpuLoad load{.queued = core.queued(), .average = core.load()};
  load.average.add_load(strangers_load(core));
  return load;
}

// The whole program weighs as much as one of them.
double Processors::strangers_load(const Core& core) const {
  const double strangers = core.stranger().load(world_.now());
  if (strangers <= 0) return 0;
  double all = 0;
  for (const auto& one : cores_) all += one->load().load();
  return all * strangers;
}

Core* Processors::idlest_but(const Core& maker, const Thread& thread) {
  Core* idlest = nullptr;
  for (const auto& core : cores_) {
    if (core.get() == &maker || !allowed(thread, *core)) continue;
    if (idlest == nullptr || is_idler(load_of(*core), load_of(*idlest))) idlest = core.get();
  }
  return idlest;
}

bool Processors::has_room(Core& core, const Thread& thread) const {
  if (!scheduler_.packs_cpus || core.threads() != 1 || !allowed(thread, core)) return false;
  const double more = thread.core == &core ? 0 : thread.load.utilization();  // else it is counted there
  return load_of(core).average.utilization() + more < room;
}

void Processors::begin_used(Ps longest) {
  if (!follows_loads()) return;
  for (const auto& core : cores_) {
    core->load().begin_used(std::llround(world_.rng().unit() * static_cast<double>(longest)));
  }
}

Core& Processors::place_new(const Thread& thread) {
  if (Core* const own = maker(); own != nullptr && balances_by_load() && allowed(thread, *own)) {
    if (has_room(*own, thread)) return *own;
    Core* const idlest = idlest_but(*own, thread);
    if (idlest == nullptr || !begins_elsewhere(load_of(*own), load_of(*idlest))) return *own;
    if (!idlest->idle()) return *idlest;
  }
  Core* best = nullptr;
  const auto rank = [&](const Core& core) {
    return std::tuple(core.threads(), !core.siblings_idle(), threads_in(core.socket()));
  };
  std::uint64_t alike = 0;
  for (const auto& core : cores_) {
    if (!allowed(thread, *core)) continue;
    if (best == nullptr || rank(*core) < rank(*best)) {
      best = core.get();
      alike = 1;
    } else if (scheduler_.wake_affine && rank(*core) == rank(*best) && world_.rng().below(++alike) == 0) {
      best = core.get();  // by loads, which are never quite the same
    }
  }
  return *best;
}

Core* Processors::of_these(const Core* core) const {
  if (core == nullptr || core->cpu() >= static_cast<int>(cores_.size())) return nullptr;
  Core* own = cores_[static_cast<std::size_t>(core->cpu())].get();
  return own == core ? own : nullptr;
}

Thread* Processors::waking_thread() const {
  return world_.cause() != nullptr ? world_.cause() : world_.playing();
}

Core* Processors::waker() const {
  const Thread* by = waking_thread();
  return of_these(by == nullptr ? nullptr : by->core);
}

bool Processors::drawn(const Thread& thread, Core& from, Core& waker) const {
  if (!scheduler_.wake_affine || &from == &waker || from.socket() != waker.socket() ||
      !allowed(thread, waker) ||
      is_either_wide(waking_thread()->own_wakees, thread.own_wakees, cores_.size() / sockets_))
    return false;
  const double own = thread.load.load();
  double there = load_of(waker).average.load();
  if (world_.cause_sleeps()) {
    if (waker.threads() == 1) return true;
    there -= waking_thread()->load.load();
  }
  return there + own < affine_bias * (load_of(from).average.load() - own);
}

void Processors::account_load(Thread& thread, double ready, double running) const {
  if (follows_loads()) thread.load.pass(world_.now(), thread.standing.lingers ? 1 : ready, ready, running);
}

void Processors::move_load(Thread& thread, Core& from, Core& to) {
  from.load().remove(thread.load);
  to.load().add(thread.load);
}

double Processors::share_on(const Core& core) const {
  const auto here = static_cast<double>(core.queued());
  double all = here;
  for (const auto& other : cores_) {
    if (other.get() != &core) all += other->load().load();
  }
  return all > 0 ? here / all : 1;
}

Core& Processors::place(Thread& thread) {
  if (thread.apart()) return *thread.core;
  if (thread.core == nullptr) return place_new(thread);
  if (thread.standing.lingers) return *thread.core;
  count_own_wakee(thread);
  Core& near = idle_beside(is_drawn_to_interrupt(thread) ? *interrupted_ : *thread.core, thread);
  Core* const from = waker();
  if (from != nullptr && near.idle() && near.idle_for() > idle_for_long && has_room(*from, thread))
    return *from;
  return from != nullptr && !near.idle() && drawn(thread, near, *from) ? *from : near;
}

bool Processors::is_drawn_to_interrupt(Thread& thread) const {
  if (!scheduler_.wake_to_interrupt || interrupted_ == nullptr || !interrupted_->idle() ||
      !allowed(thread, *interrupted_)) {
    return false;
  }
  const std::uint64_t cpus = cores_.size() / sockets_;
  const bool drawn = !is_wide(interrupted_->idle_wakees(), thread.wakees, cpus);
  thread.wakees.settled |= drawn && thread.wakees.flips > cpus;
  return drawn;
}

void Processors::count_wakee(const Thread& woken) {
  if (!scheduler_.wake_to_interrupt || interrupted_ == nullptr) return;
  Wakees& waker = interrupted_->idle() ? interrupted_->idle_wakees() : interrupted_->current()->wakees;
  const Ps tick = scheduler_.tick;
  const bool settled = interrupted_->idle() || waker.settled;
  waker.count(woken, wakees_clock_.at(world_.now()) / tick * tick, settled ? wakees_clock_.times() : 1);
}

// A thread with one CPU is not placed at all (select_task_rq()).
void Processors::count_own_wakee(const Thread& woken) const {
  Thread* const by = waking_thread();
  if (by == nullptr || !scheduler_.wake_affine || woken.cpus().size() == 1) return;
  by->own_wakees.count_halving(woken, world_.now());
}

bool Processors::looks_for_idle_in(std::uint32_t socket) const {
  if (!balances_by_load()) return true;
  double used = 0;
  std::size_t cpus = 0;
  for (const auto& core : cores_) {
    if (core->socket() != socket) continue;
    used += std::min(load_of(*core).average.utilization(), 1.0);
    ++cpus;
  }
  return looks_for_idle(cpus, used / static_cast<double>(cpus));
}

Core& Processors::idle_beside(Core& near, const Thread& thread) const {
  if (near.idle()) return near;
  Core* const idle = idle_in(near.socket(), thread, scheduler_.idle_cores_only ? &near : nullptr);
  if (idle == nullptr) return near;
  if (looks_for_idle_in(near.socket())) return *idle;
  // Its siblings are looked at in any case (select_idle_smt()).
  const auto sibling = std::find_if(cores_.begin(), cores_.end(), [&](const auto& core) {
    return core->idle() && siblings(*core, near) && allowed(thread, *core);
  });
  return sibling == cores_.end() ? near : **sibling;
}

Ps Processors::take_for_interrupts(Core& core, Ps time) {
  Ps& until = interrupts_until_[static_cast<std::size_t>(core.cpu())];
  until = std::max(until, world_.now()) + time;
  if (scheduler_.active_balance > 0) {
    const auto cpu = static_cast<std::size_t>(core.cpu());
    const auto age = static_cast<double>(world_.now() - std::exchange(interrupted_at_[cpu], world_.now()));
    interrupts_part_[cpu] = interrupts_part_[cpu] * std::exp(-age / interrupts_average_ps) +
                            static_cast<double>(time) / interrupts_average_ps;
  }
  core.steal(time);
  return until;
}

bool Processors::is_beside_busy(const Core& core, const Thread& thread) const {
  return std::any_of(cores_.begin(), cores_.end(), [&](const auto& other) {
    return other.get() != &core && other->socket() == core.socket() && !other->idle() &&
           allowed(thread, *other);
  });
}

// A CPU that has not halted yet, or is coming to life, finds the thread in a list (ttwu_queue_wakelist(),
// call_function_single_prep_ipi()).
Ps Processors::cost_of_reaching(const Core& woken) const {
  if (woken.comes_to_life()) return 0;
  if (!woken.idle()) return scheduler_.wake_elsewhere;
  return halts(woken) ? scheduler_.wake_idle : 0;
}

bool Processors::halts(const Core& idle) const {
  return idle.idle_for() >= scheduler_.halt_after;
}

Ps Processors::wakeup_latency(const Core& idle) const {
  return halts(idle) ? scheduler_.wakeup_latency
                     : std::max<Ps>(scheduler_.wakeup_before_halt - idle.idle_for(), 0);
}

// Who wakes a thread for another CPU pays for reaching it, and who wakes it for the own one for looking at
// others.
void Processors::pay_for_wake(const Core& woken, const Thread& thread) {
  const auto far = [&](const Core& from) {
    return from.socket() == woken.socket() ? 0 : scheduler_.wake_other_socket;
  };
  if (interrupted_ != nullptr) {
    const Ps cost = interrupted_->duration_of(far(*interrupted_));
    if (cost == 0) return;
    take_for_interrupts(*interrupted_, cost);
    return;
  }
  Core* const by = waker();
  if (by == nullptr) return;
  if (by != &woken) {
    by->wake_others(far(*by) + cost_of_reaching(woken));
  } else if (scheduler_.wake_beside > 0 && is_beside_busy(*by, thread)) {
    by->wake_others(scheduler_.wake_beside);
  }
}

Ps Processors::not_charged_for_waking(const Core& woken) const {
  return waker() == &woken ? woken.duration_of(scheduler_.wake_cost) : 0;
}

Preemption Processors::preemption(const Core& woken) const {
  Core* const by = waker();
  if (by == nullptr) return {};
  if (by == &woken) return {.charged = not_charged_for_waking(woken)};
  by->wake_others(scheduler_.reschedule);
  const Ps interrupt = woken.duration_of(scheduler_.reschedule_interrupt);
  return {.interrupt = interrupt, .charged = interrupt};
}

void Processors::wake(Thread& thread) {
  count_wakee(thread);
  account_load(thread, 0, 0);
  Core& core = place(thread);
  const bool lingered = thread.standing.lingers;
  const Ps waking = not_charged_for_waking(core);
  if (lingered) core.requeue(thread);
  core.update_queue(waking);
  core.account_load();
  const RunQueue* from = nullptr;
  if (thread.core == nullptr && follows_loads()) {
    thread.load = LoadAverage::of_new_thread(core.load());
    core.load().add(thread.load);
  } else if (thread.core != nullptr) {
    if (thread.core != &core) {
      thread.core->update_queue();
      thread.core->account_load();
      move_load(thread, *thread.core, core);
    }
    from = &thread.core->queue();
  }
  if (!lingered) policy_->place_woken(core.queue(), from, thread);
  if (!thread.apart()) pay_for_wake(core, thread);
  if (core.idle()) {
    core.run(thread, thread.sets_up ? 0 : wakeup_latency(core));
    return;
  }
  core.enqueue(thread);
  core.queue().reweighed = !lingered && core.weigh();
  if (core.switches()) return;
  if (policy_->preempts(core.queue(), *core.current(), thread)) {
    core.preempt(preemption(core));
  } else {
    core.current()->charge(waking);
  }
}

void Processors::interrupt(const Core& near, Ps entry, Ps each, EventHandler& handler, std::uint64_t tag) {
  const auto cpu =
      static_cast<std::size_t>(scheduler_.interrupt_cpu >= 0 ? scheduler_.interrupt_cpu : near.cpu());
  if (cpu >= cores_.size()) {  // a thread apart
    world_.at(world_.now() + entry + each, handler, tag);
    return;
  }
  Core& core = *cores_[cpu];
  const Ps cost = core.duration_of(interrupts_until_[cpu] > world_.now() ? each : entry + each);
  const Ps until = take_for_interrupts(core, cost);
  interrupts_[cpu].push_back({.handler = &handler, .tag = tag});
  world_.at(until, *this, cpu + first_cpu_tag);
}

Ps Processors::refill_cost(const Thread& thread, std::uint64_t others) const {
  const std::uint64_t bytes =
      thread.footprint_bytes > 0 ? thread.footprint_bytes : scheduler_.switch_footprint_bytes;
  return bytes == 0 || others == 0 || memory_ == nullptr ? 0 : memory_->refill_cost(bytes, others);
}

Thread* Processors::pull_for(Core& idle) {
  if (waiting_ == 0 || arranging_ || idle.mean_idle_time() < scheduler_.idle_pull_after ||
      idle.cpu() >= static_cast<int>(cores_.size()))
    return nullptr;
  const auto comes = [&](const Thread* thread) { return allowed(*thread, idle) && !is_hot(*thread); };
  Core* busiest = nullptr;
  for (const auto& core : cores_) {
    const auto& waiting = core->queue().waiting;
    if (std::none_of(waiting.begin(), waiting.end(), comes)) continue;
    if (busiest == nullptr || waiting.size() > busiest->queue().waiting.size()) busiest = core.get();
  }
  if (busiest == nullptr) return nullptr;
  const auto& waiting = busiest->queue().waiting;
  return &take_waiting(**std::find_if(waiting.begin(), waiting.end(), comes), *busiest, idle);
}

bool Processors::is_hot(const Thread& thread) const {
  return balances_by_load() && world_.now() - thread.ran_until < hot_for;
}

void Processors::account_move(Thread& thread, Core& from, Core& to) {
  from.update_queue();
  to.update_queue();
  from.account_load();
  to.account_load();
  account_load(thread, thread.state() == Thread::State::sleeping ? 0 : 1, 0);
  move_load(thread, from, to);
}

Thread* Processors::take_waiting(Core& from, Core& to) {
  const auto& waiting = from.queue().waiting;
  const auto longest =
      std::find_if(waiting.begin(), waiting.end(), [&](const Thread* t) { return allowed(*t, to); });
  return longest == waiting.end() ? nullptr : &take_waiting(**longest, from, to);
}

Thread& Processors::take_waiting(Thread& thread, Core& from, Core& to) {
  account_move(thread, from, to);
  std::erase(from.queue().waiting, &thread);
  count_waiting(-1);
  policy_->move(from.queue(), to.queue(), thread);
  return thread;
}

void Processors::offer_waiting(Core& core) {
  for (const auto& other : cores_) {
    if (!other->idle()) continue;
    if (Thread* thread = take_waiting(core, *other)) return run_or_enqueue(*other, *thread);
  }
}

void Processors::run_or_enqueue(Core& core, Thread& thread) const {
  if (core.idle()) {
    core.run(thread, scheduler_.wakeup_latency);
  } else {
    core.enqueue(thread);
  }
}

void Processors::set_interrupted_parts(const std::vector<double>& parts) {
  interrupts_part_ = parts;
  std::fill(interrupted_at_.begin(), interrupted_at_.end(), world_.now());
}

bool Processors::pressed(const Core& core) const {
  return scheduler_.active_balance > 0 && world_.now() - core.current()->came_at >= active_balance_ &&
         interrupts_part_[static_cast<std::size_t>(core.cpu())] > most_interrupts;
}

void Processors::relieve(Core& core) {
  const Thread& starving = *core.current();
  if (starving.apart()) return;
  for (const auto& other : cores_) {
    if (!other->idle() || !allowed(starving, *other)) continue;
    Thread& thread = core.give_away(*other);
    run_or_enqueue(*other, thread);
    return;
  }
}

Core* Processors::idle_in(std::uint32_t socket, const Thread& thread, const Core* sibling_of) const {
  Core* any = nullptr;
  for (const auto& core : cores_) {
    if (core->socket() != socket || !core->idle() || !allowed(thread, *core)) continue;
    if (core->siblings_idle()) return core.get();
    if (any == nullptr && (sibling_of == nullptr || siblings(*core, *sibling_of))) any = core.get();
  }
  return any;
}

Core* Processors::partner_in(std::uint32_t socket, const Thread& thread) const {
  Core* partner = nullptr;
  std::uint64_t alike = 0;
  for (const auto& core : cores_) {
    if (core->socket() != socket || core->idle() || !allowed(thread, *core) ||
        !allowed(*core->current(), *thread.core)) {
      continue;
    }
    if (world_.rng().below(++alike) == 0) partner = core.get();
  }
  return partner;
}

std::size_t Processors::threads_in(std::uint32_t socket) const {
  std::size_t threads = 0;
  for (const auto& core : cores_) threads += core->socket() == socket ? core->threads() : 0;
  return threads;
}

void Processors::bring(Thread& thread, std::uint32_t socket) {
  Core& from = *thread.core;
  const bool runs = thread.state() == Thread::State::running;
  if (thread.apart() || from.socket() == socket || (!runs && thread.state() != Thread::State::sleeping)) {
    return;
  }
  // It runs when Linux does this.
  const SocketThreads threads{.here = threads_in(from.socket()) + (runs ? 0 : 1),
                              .there = threads_in(socket)};
  if (!is_free_enough(threads)) return;
  Core* const to = may_move(threads) ? idle_in(socket, thread) : nullptr;
  if (to != nullptr) {
    put(thread, *to);
  } else if (Core* const partner = runs ? partner_in(socket, thread) : nullptr; partner != nullptr) {
    Thread& here = from.give_away(*partner);
    Thread& there = partner->give_away(from);
    run_or_enqueue(*partner, here);
    run_or_enqueue(from, there);
  }
}

void Processors::arrange(std::span<const Seat> seats) {
  arranging_ = true;
  for (const Seat& seat : seats) put(*seat.thread, *cores_[seat.cpu]);
  arranging_ = false;
  for (const Seat& seat : seats) seat.thread->came_at = world_.now() - seat.for_so_long;
}

Core& Processors::core_of(const Thread& thread) const {
  if (thread.state() != Thread::State::runnable) return *thread.core;
  for (const auto& core : cores_) {  // its own tells where it ran last
    const auto& waiting = core->queue().waiting;
    if (std::find(waiting.begin(), waiting.end(), &thread) != waiting.end()) return *core;
  }
  return *thread.core;
}

void Processors::put(Thread& thread, Core& to) {
  Core& from = core_of(thread);
  if (&from == &to) return;
  switch (thread.state()) {
    case Thread::State::running:
      return run_or_enqueue(to, from.give_away(to));
    case Thread::State::runnable:
      return run_or_enqueue(to, take_waiting(thread, from, to));
    case Thread::State::sleeping:
      account_move(thread, from, to);
      std::erase(from.queue().lingering, &thread);
      thread.standing.lingers = false;
      policy_->move(from.queue(), to.queue(), thread);
      thread.core = &to;
      thread.came_at = world_.now();
      return;
    case Thread::State::fresh:
    case Thread::State::ended:
      return;
  }
}

void Processors::count_waiting(int change) {
  waiting_ += change;
  if (waiting_ > 0 && !background_planned_ && scheduler_.background_hz > 0) plan_background();
  if (waiting_ > 0 && !balance_planned_ && scheduler_.balance_interval > 0) plan_balance();
}

void Processors::plan_balance() {
  balance_planned_ = true;
  const Ps now = world_.now();
  const Ps turn = std::max<Ps>(scheduler_.balance_interval / static_cast<Ps>(cores_.size()), 1);
  if (!balances_by_load()) return world_.at(now + turn, *this, balance_tag);
  if (looks_next_.empty()) {
    for (Ps n = 1; n <= static_cast<Ps>(cores_.size()); ++n) looks_next_.push_back(now + n * turn);
  }
  world_.at(tick_from(now + 1, scheduler_.tick), *this, balance_tag);
}

void Processors::plan_background() {
  const double rate = scheduler_.background_hz * static_cast<double>(cores_.size());
  const double wait_s = -std::log1p(-world_.rng().unit()) / rate;
  plan_background(world_.now() + std::llround(wait_s * 1e12));
}

void Processors::plan_background(Ps at) {
  background_planned_ = true;
  world_.at(at, *this, background_tag);
}

// Those that run for long come to the CPU where they were last, but for some of their turns. Who would come
// in the middle of a switch or an interrupt comes when that is over.
void Processors::let_others_run() {
  Rng& rng = world_.rng();
  const bool is_long = scheduler_.background_long_hz > 0 &&
                       rng.unit() * scheduler_.background_hz < scheduler_.background_long_hz;
  const bool is_heavy =
      is_long && scheduler_.background_heavy_part > 0 && rng.unit() < scheduler_.background_heavy_part;
  Core* core = cores_[rng.below(cores_.size())].get();
  if (is_long) {
    Core*& last = is_heavy ? heavy_was_on_ : long_was_on_;
    const bool moves =
        last == nullptr || scheduler_.background_moving >= 1 || rng.unit() < scheduler_.background_moving;
    if (moves) last = core;
    core = last;
  }
  if (core->occupied_until() > world_.now()) return plan_background(core->occupied_until());
  if (is_heavy) return core->interject(scheduler_.background_long, scheduler_.background_heavy_weight);
  core->interject(is_long ? scheduler_.background_long : moment);
}

void Processors::on_event(std::uint64_t tag) {
  if (tag == balance_tag) {
    balance_planned_ = false;
    balance();
    count_waiting(0);
    return;
  }
  if (tag == background_tag) {
    background_planned_ = false;
    let_others_run();
    count_waiting(0);
    return;
  }
  const std::size_t cpu = tag - first_cpu_tag;
  const Interrupt ended = interrupts_[cpu].front();
  interrupts_[cpu].pop_front();
  interrupted_ = cores_[cpu].get();
  ended.handler->on_event(ended.tag);
  interrupted_ = nullptr;
}

// CPUs look in turn, each once an interval: for a CPU that has one thread more than they, which goes to and
// fro where threads can't be shared out evenly (Linux: fix_small_imbalance()). Each looks at its siblings,
// the first of a core at its socket, the first of a socket at the host.
void Processors::balance() {
  if (balances_by_load()) return balance_by_load();
  Core& here = *cores_[turn_];
  turn_ = (turn_ + 1) % cores_.size();
  if (turn_ == 0 && world_.rng().unit() < scheduler_.stray_exchanges) exchange_waiting();
  balance_by_number(here);
}

void Processors::balance_by_number(Core& here) {
  Core* const busiest = busiest_by_number(here);
  if (busiest == nullptr) return;
  if (Thread* moved = take_waiting(*busiest, here)) run_or_enqueue(here, *moved);
}

Core* Processors::busiest_by_number(const Core& here) const {
  Core* busiest = nullptr;
  std::uint64_t alike = 0;
  for (const auto& core : cores_) {
    if (!looks_at(here, *core) || core->queue().waiting.empty()) continue;
    if (busiest != nullptr && core->threads() < busiest->threads()) continue;
    alike = busiest == nullptr || core->threads() > busiest->threads() ? 1 : alike + 1;
    if (world_.rng().below(alike) == 0) busiest = core.get();
  }
  return busiest == nullptr || busiest->threads() <= here.threads() ? nullptr : busiest;
}

// With EEVDF each CPU looks at a tick, an interval after its last look or half of that if it found something
// to take over then, whether it took it or not (sched_balance_rq(), get_sd_balance_interval(): from one tick
// less than twice the domain's CPUs in milliseconds, times busy_factor 16, to one tick less than half of it).
// They go by loads. Idle ones look at each tick at which another has threads that wait (the tick of that one
// tells them to: nohz_balancer_kick()), and take one, if it is not hot or as late as busy ones would take it
// (calculate_imbalance(), for who has something to spare).
void Processors::balance_by_load() {
  for (std::size_t n = 0; n < cores_.size(); ++n) {
    Core& here = *cores_[n];
    const bool idle = here.idle();
    if (!idle && looks_next_[n] > world_.now()) continue;
    const bool found = idle ? takes_to_idle(here) : takes_over(here);
    looks_next_[n] = world_.now() + scheduler_.balance_interval / (found ? 2 : 1) - scheduler_.tick;
  }
}

bool Processors::takes_to_idle(Core& here) {
  Core* const busiest = busiest_by_number(here);
  if (busiest == nullptr) return false;
  unsigned& looks_in_vain = looks_in_vain_[static_cast<std::size_t>(here.cpu())];
  const auto& waiting = busiest->queue().waiting;
  const auto taken = std::find_if(waiting.begin(), waiting.end(), [&](const Thread* thread) {
    return allowed(*thread, here) && is_taken(0, 0, looks_in_vain, is_hot(*thread));
  });
  if (taken == waiting.end()) {
    ++looks_in_vain;
    return true;
  }
  looks_in_vain = 0;
  run_or_enqueue(here, take_waiting(**taken, *busiest, here));
  return true;
}

// One of another program that lingers has been in the queue for longer than the program's threads, which come
// and go, so that it is the first that is looked at, and it is not hot. Not beside another one: of those that
// linger a CPU knows one (Core::interject()).
bool Processors::takes_stranger_over(Core& here, Core& busiest, double& to_take,
                                     unsigned looks_in_vain) const {
  if (!busiest.stranger().lingers(world_.now()) || here.stranger().lingers(world_.now())) return false;
  const double load = strangers_load(busiest);
  if (!is_taken(load, to_take, looks_in_vain, false)) return false;
  here.take_stranger(busiest);
  to_take -= load;
  return true;
}

// load_balance.hpp. Looks in vain are counted as in sched_balance_rq(): a balanced one ends the count.
bool Processors::takes_over(Core& here) {
  double sum = 0;
  double cpus = 0;
  double most = 0;
  Core* busiest = nullptr;
  for (const auto& core : cores_) {
    if (core.get() != &here && !looks_at(here, *core)) continue;
    const double load = load_of(*core).average.load();
    sum += load;
    cpus += 1;
    if (core.get() == &here || core->queue().waiting.empty()) continue;
    if (busiest == nullptr || load > most) {
      busiest = core.get();
      most = load;
    }
  }
  double to_take = busiest == nullptr ? 0 : load_to_take(load_of(here), load_of(*busiest), sum / cpus);
  unsigned& looks_in_vain = looks_in_vain_[static_cast<std::size_t>(here.cpu())];
  if (to_take <= 0) {
    looks_in_vain = 0;
    return false;
  }
  bool took = takes_stranger_over(here, *busiest, to_take, looks_in_vain);
  const auto& waiting = busiest->queue().waiting;
  while (to_take > 0) {
    const auto next = std::find_if(waiting.begin(), waiting.end(), [&](Thread* thread) {
      account_load(*thread, 1, 0);
      return allowed(*thread, here) && is_taken(thread->load.load(), to_take, looks_in_vain, is_hot(*thread));
    });
    if (next == waiting.end()) break;
    to_take -= (*next)->load.load();
    run_or_enqueue(here, take_waiting(**next, *busiest, here));
    took = true;
  }
  looks_in_vain = took ? 0 : looks_in_vain + 1;
  return true;
}

bool Processors::looks_at(const Core& here, const Core& there) const {
  const auto cores = cores_.size() / ways_;
  const auto cpu = static_cast<std::size_t>(here.cpu());
  if (siblings(here, there)) return true;
  if (cpu >= cores) return false;
  return here.socket() == there.socket() || cpu % (cores / sockets_) == 0;
}

// Two CPUs at random give each other the thread that has waited longest.
void Processors::exchange_waiting() {
  Core& a = *cores_[world_.rng().below(cores_.size())];
  Core& b = *cores_[world_.rng().below(cores_.size())];
  if (&a == &b || a.queue().waiting.empty() || b.queue().waiting.empty()) return;
  Thread*& of_a = a.queue().waiting.front();
  Thread*& of_b = b.queue().waiting.front();
  if (!allowed(*of_a, b) || !allowed(*of_b, a)) return;
  a.update_queue();
  b.update_queue();
  policy_->move(a.queue(), b.queue(), *of_a);
  policy_->move(b.queue(), a.queue(), *of_b);
  std::swap(of_a, of_b);
}

void Processors::ran(const Thread& thread, Ps since) const {
  if (Timeline* timeline = world_.timeline()) {
    timeline->span(host_, static_cast<std::uint32_t>(thread.core->cpu()), thread.name(), since, world_.now());
  }
}

}  // namespace rkv::sim
