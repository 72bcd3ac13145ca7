#include "backends/sim/cpu/core.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "backends/sim/cpu/processors.hpp"
#include "backends/sim/engine/timeline.hpp"

namespace rkv::sim {
namespace {

constexpr std::uint64_t milestone_kind = 0;
constexpr std::uint64_t tick_kind = 1;

// The run queue is a balanced tree of the threads that wait (Linux, kernel/sched/fair.c, from 2.6.23
// on): who comes in and who goes passes as many levels as the tree has, each another thread's memory.
//   level x log2(ready)
Ps queue_cost(Ps level, std::size_t others) {
  if (level == 0 || others == 0) return 0;
  return std::llround(static_cast<double>(level) * std::log2(static_cast<double>(others + 1)));
}

}  // namespace

Core::Core(World& world, Processors& processors, int cpu, std::uint32_t socket)
    : world_(world),
      processors_(processors),
      cpu_(cpu),
      socket_(socket),
      stranger_(processors.scheduler()),
      mean_idle_time_(2 * processors.scheduler().idle_pull_after) {}

bool Core::siblings_idle() const {
  return std::all_of(siblings_.begin(), siblings_.end(), [](const Core* core) { return core->idle(); });
}

void Core::settle() {
  const Ps now = world_.now();
  if (current_ == nullptr || now <= segment_start_) return;
  const Ps time = now - std::exchange(segment_start_, now);
  progressed_at_ = now;
  current_->advance(std::min(work_in(time, speed_permille_), current_->target() - current_->progress()));
  current_->charge(time);
  current_->standing.ran += time;
  current_->settle_stamps(now, speed_permille_);
}

void Core::update_queue(Ps not_charged) {
  settle();
  if (current_ != nullptr) current_->charge(-not_charged);
  processors_.policy().update(queue_, current_);
}

void Core::plan() {
  ++milestone_;
  if (current_ == nullptr || current_->target() >= forever) return;
  const Ps work = current_->target() - current_->progress();
  world_.at(std::max(segment_start_, world_.now()) + time_of(work, speed_permille_), *this,
            milestone_ << 1 | milestone_kind);
}

void Core::on_event(std::uint64_t tag) {
  const std::uint64_t number = tag >> 1;
  if ((tag & 1) == milestone_kind) {
    if (number == milestone_) reach_milestone();
  } else if (number == tick_ && tick_planned_) {
    end_tick();
  }
}

void Core::reach_milestone() {
  settle();
  current_->advance(current_->target() - current_->progress());  // what rounding left
  playing_ = true;
  current_->play();
  playing_ = false;
  if (current_->state() != Thread::State::running) {
    vacate();
  } else if (must_preempt_) {
    put_back(*must_preempt_);
  } else {
    plan();
  }
}

void Core::account_load() {
  if (!processors_.follows_loads()) return;
  load_.pass(world_.now(), static_cast<double>(queued()), static_cast<double>(threads()), idle() ? 0 : 1);
}

// The running thread has gone to sleep or ended.
void Core::vacate() {
  account_load();
  processors_.account_load(*current_, 1, 1);
  ++current_->voluntary_switches;
  processors_.policy().leave(queue_, *current_);
  const Preemption by = std::exchange(must_preempt_, {}).value_or(Preemption{});
  processors_.ran(*current_, running_since_);
  const bool lingers = current_->standing.lingers;
  leave(*current_);
  if (!lingers) weigh();
  pick_next(by);
}

void Core::leave(Thread& thread) {
  if (std::exchange(thread.gone, 0) == 0) thread.switches_before = switches_;
  thread.ran_until = world_.now();
  last_ = std::exchange(current_, nullptr);
  ++milestone_;
}

void Core::preempt(Preemption by) {
  if (playing_) {
    must_preempt_ = by;
  } else {
    put_back(by);
  }
}

void Core::yield() {
  settle();
  if (queue_.empty() || !processors_.policy().yield(queue_, *current_)) return;
  preempt({});
}

Thread& Core::take_off() {
  settle();
  account_load();
  must_preempt_.reset();
  Thread& thread = *current_;
  processors_.account_load(thread, 1, 1);
  ++thread.involuntary_switches;
  processors_.ran(thread, running_since_);
  leave(thread);
  thread.set_state(Thread::State::runnable);
  thread.queued_since = world_.now();
  thread.preempted();
  return thread;
}

void Core::put_back(Preemption by) {
  Thread& thread = take_off();
  queue_.waiting.push_back(&thread);
  processors_.count_waiting(1);
  pick_next(by);
}

void Core::requeue(Thread& thread) {
  settle();
  const Ps since_tick = world_.now() % processors_.scheduler().tick;
  processors_.policy().requeue(queue_, *current_, since_tick, thread);
}

void Core::enqueue(Thread& thread) {
  account_load();
  thread.set_state(Thread::State::runnable);
  if (thread.core != this) {
    thread.switches_before = switches_;
    thread.came_at = world_.now();
  }
  thread.core = this;
  thread.queued_since = world_.now();
  queue_.waiting.push_back(&thread);
  processors_.count_waiting(1);
  if (!tick_planned_) plan_tick();
}

bool Core::weigh() {
  return stranger_.lingers(world_.now()) && stranger_.weigh(world_.now(), processors_.share_on(*this));
}

Thread* Core::pick_ready() {
  while (!queue_.empty()) {
    Thread* next = processors_.policy().pick(queue_);
    if (!next->standing.lingers) return next;
    processors_.account_load(*next, 0, 0);
    next->standing.lingers = false;
    weigh();
  }
  return nullptr;
}

void Core::pick_next(Preemption by) {
  tick_planned_ = false;
  Thread* next = pick_ready();
  if (next != nullptr) {
    processors_.count_waiting(-1);
  } else {
    stranger_.leaves(world_.now());
    next = processors_.pull_for(*this);
  }
  if (next == nullptr) {
    idle_since_ = world_.now();
    set_busy_for_siblings();
    return;
  }
  run(*next, by.interrupt, by.charged);
}

// update_avg() of kernel/sched/core.c: an eighth of the difference, and a limit.
void Core::end_idle_time() {
  if (idle_since_ < 0) return;
  const Ps time = world_.now() - std::exchange(idle_since_, -1);
  mean_idle_time_ =
      std::min(mean_idle_time_ + (time - mean_idle_time_) / 8, 2 * processors_.scheduler().idle_pull_after);
}

void Core::run(Thread& thread, Ps latency, Ps charged) {
  account_load();
  processors_.account_load(thread, thread.state() == Thread::State::runnable ? 1 : 0, 0);
  const SchedulerProfile& costs = processors_.scheduler();
  const Ps now = world_.now();
  // Of the two only the larger one: what has left the caches leaves them once.
  Ps more = idle_for() > 0 ? thread.more_after_idle : 0;
  Ps cost = 0;
  if (&thread != last_) {
    more = std::max(more, thread.more_behind_another);
    cost += costs.switch_cost;
    if (thread.core == this && thread.cpu_time > 0) {
      const Ps refill = processors_.refill_cost(thread, switches_ - thread.switches_before);
      (thread.looks_first ? thread.gone : cost) += refill;
    }
    cost += queue_cost(costs.run_queue_level, queue_.waiting.size());
    ++switches_;
  }
  cost += more;
  if (thread.core != this && thread.core != nullptr && thread.cpu_time > 0) cost += costs.migration_cost;
  const bool waited = thread.state() == Thread::State::runnable;
  if (!thread.sets_up) {
    if (waited) world_.spent().add(Spent::run_queue, now - thread.queued_since);
    world_.spent().add(Spent::wake_up, latency + cost);
  }
  current_ = &thread;
  was_idle_ = idle_since_ >= 0;
  switched_at_ = now + latency;
  end_idle_time();
  if (thread.core != this) thread.came_at = now;
  thread.core = this;
  thread.set_state(Thread::State::running);
  thread.standing.ran = thread.standing.unaccounted = 0;
  thread.looks_first = false;
  // Whoever comes on is charged for the switch, as schedule() reads the clock before it (Linux,
  // kernel/sched/core.c).
  thread.charge(cost + charged);
  segment_start_ = std::max(now, waking_until_) + latency + cost;
  running_since_ = progressed_at_ = now;
  set_busy_for_siblings();
  if (waited) thread.resumed();
  plan();
  if (!queue_.empty()) plan_tick();
}

void Core::plan_tick() {
  settle();
  const Ps end =
      std::max(segment_start_, world_.now()) + processors_.policy().rest_of_slice(queue_, *current_);
  tick_planned_ = true;
  world_.at(tick_from(end, processors_.scheduler().tick), *this, ++tick_ << 1 | tick_kind);
}

void Core::end_tick() {
  tick_planned_ = false;
  if (current_ == nullptr || queue_.empty()) return;
  processors_.offer_waiting(*this);
  if (queue_.empty()) return;
  settle();
  const bool expired = processors_.policy().expired(queue_, *current_);
  if (expired && !queue_.waiting.empty()) return end_slice();
  if (expired) stay_on();
  if (!queue_.empty()) plan_tick();
}

// Ticks stop all CPUs at the same time, half of them within 0.1 us, and mostly for 15 to 36 us where
// threads spin on two of a virtual machine (build/bench/rkv_bench_ticks); whoever was running is charged for
// it.
void Core::end_slice() {
  const Ps most = processors_.scheduler().tick_jitter;
  const Ps time = most > 0 ? std::llround(world_.rng().unit() * static_cast<double>(most)) : 0;
  current_->charge(time);
  put_back({.interrupt = time});
}

// The running thread's slice is over, and nobody else is ready: it is picked again, behind those who linger
// and come before it.
void Core::stay_on() {
  account_load();
  queue_.waiting.push_back(current_);
  static_cast<void>(pick_ready());
}

bool Core::gives_way(Ps time) {
  if (current_ == nullptr || playing_ || segment_start_ > world_.now()) return false;
  settle();
  static_cast<void>(processors_.policy().expired(queue_, *current_));
  put_back({.interrupt = time});
  return true;
}

void Core::interject(Ps time) {
  if (stranger_.lingers(world_.now()) || !gives_way(time)) return;
  stranger_.sleeps(world_.now() + time, time, processors_.share_on(*this));
}

void Core::interject(Ps time, double weight) {
  if (gives_way(time)) stranger_.goes(world_.now() + time, time, weight);
}

void Core::take_stranger(Core& from) {
  stranger_.take(from.stranger_, world_.now(), processors_.share_on(*this));
}

void Core::steal(Ps time) {
  if (current_ == nullptr) return;
  settle();
  segment_start_ = std::max(segment_start_, world_.now()) + time;
  if (playing_) return;
  if (starved_for_a_tick() || processors_.pressed(*this)) processors_.relieve(*this);
  plan();
}

void Core::wake_others(Ps time) {
  steal(time);
  if (current_ != nullptr) waking_until_ = segment_start_;
}

// Whether the running thread had nothing of the whole last period between two ticks, which only a tick can
// see.
bool Core::starved_for_a_tick() const {
  const Ps tick = processors_.scheduler().tick;
  return world_.now() / tick * tick - tick >= progressed_at_;
}

Thread& Core::give_away(Core& to) {
  update_queue();
  to.update_queue();
  to.account_load();
  Thread& thread = take_off();
  processors_.policy().move(queue_, to.queue_, thread);
  Processors::move_load(thread, *this, to);
  pick_next();
  return thread;
}

void Core::set_busy_for_siblings() {
  for (Core* sibling : siblings_) sibling->update_speed();
  processors_.changed(*this);
}

int Core::clock_permille() const {
  return processors_.clock_permille(socket_);
}

void Core::update_speed() {
  const int share = siblings_idle() ? full_speed_permille : processors_.shared_speed_permille();
  const int speed = share * clock_permille() / full_speed_permille;
  if (speed == speed_permille_) return;
  settle();
  speed_permille_ = speed;
  if (!playing_) plan();
}

}  // namespace rkv::sim
