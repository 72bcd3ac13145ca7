#include "backends/sim/cpu/thread.hpp"

#include <algorithm>
#include <utility>

#include "backends/sim/cpu/core.hpp"
#include "backends/sim/cpu/host.hpp"

namespace rkv::sim {
namespace {

class Nothing final : public Operation {
 public:
  Next step(Thread&) override { return Next::done(); }
  void on_signal(Thread&) override {}
};

}  // namespace

Thread::Thread(World& world, Host& host, std::string name, std::vector<int> cpus)
    : world_(world), host_(host), name_(std::move(name)), cpus_(std::move(cpus)) {}

void Thread::set_apart(Core& own_core) {
  apart_ = true;
  core = &own_core;
}

void Thread::spend(Ps work, Spent where) {
  recorded_ += work;
  world_.spent().add(where, work);
}

void Thread::record(EventHandler& effect, std::uint64_t tag) {
  items_.push_back({.offset = recorded_, .effect = &effect, .operation = nullptr, .tag = tag});
}

void Thread::record(Operation& operation) {
  items_.push_back({.offset = recorded_, .effect = nullptr, .operation = &operation, .tag = 0});
}

void Thread::stamp(Instant& slot) {
  stamps_.push_back({.offset = recorded_, .slot = &slot});
}

void Thread::perform(Operation& operation) {
  last_ = &operation;
  aim();
  // A thread that was preempted while its code ran waits in a run queue now, and plays when it is its turn.
  if (state_ == State::running) core->resume_current();
  suspend();
  world_.set_current(this);
  items_.clear();
  stamps_.clear();
  next_item_ = next_stamp_ = 0;
  recorded_ = stalled_ = progress_ = 0;
}

void Thread::flush() {
  Nothing nothing;
  perform(nothing);
}

void Thread::stall(Ps work, Spent where) {
  stalled_ += work;
  world_.spent().add(where, work);
}

void Thread::settle() {
  if (state_ == State::running) core->settle();
}

void Thread::retarget(Ps progress) {
  if (active_ == nullptr || state_ == State::sleeping) return;
  settle();
  target_ = std::max(progress, progress_);
  if (state_ == State::running) core->plan();
}

void Thread::wake_up() {
  if (state_ == State::sleeping) host_.cpus().wake(*this);
}

void Thread::set_timer(Ps at) {
  timer_at_ = at;
  if (at >= forever || at >= timer_planned_) return;
  timer_planned_ = at;
  world_.at(std::max(at, world_.now()), *this, 0);
}

void Thread::on_event(std::uint64_t) {
  const Ps now = world_.now();
  if (timer_planned_ <= now) timer_planned_ = forever;
  if (timer_at_ <= now) {
    timer_at_ = forever;
    signal();
  }
  set_timer(timer_at_);
}

void Thread::settle_stamps(Ps now, int speed_permille) {
  if (active_ != nullptr) return;
  while (next_stamp_ < stamps_.size() && stamps_[next_stamp_].offset + stalled_ <= progress_) {
    const Ps since = progress_ - stamps_[next_stamp_].offset - stalled_;
    *stamps_[next_stamp_].slot = to_instant(now - time_of(since, speed_permille));
    ++next_stamp_;
  }
}

void Thread::aim() {
  const Ps end = next_item_ < items_.size() ? items_[next_item_].offset : recorded_;
  target_ = end + stalled_;
}

void Thread::begin(Operation& operation) {
  core->settle();  // the last stamps of the burst
  settle_stamps(world_.now(), full_speed_permille);
  active_ = &operation;
  burst_progress_ = progress_;
  progress_ = 0;
}

bool Thread::carry_out() {
  for (;;) {
    const Next next = active_->step(*this);
    switch (next.kind) {
      case Next::Kind::work:
        if (next.until <= progress_) continue;
        target_ = next.until;
        return false;
      case Next::Kind::sleep:
        state_ = State::sleeping;
        target_ = progress_;  // goes on at once when it has a CPU again
        return false;
      case Next::Kind::done:
        active_ = nullptr;
        progress_ = burst_progress_;
        return true;
    }
  }
}

void Thread::play() {
  if (active_ != nullptr) {
    const bool ends_burst = active_ == last_;
    if (!carry_out()) return;
    if (ends_burst) return finish();
  }
  for (;;) {
    while (next_item_ < items_.size() && items_[next_item_].offset + stalled_ <= progress_) {
      const Item item = items_[next_item_++];
      if (item.operation != nullptr) {
        begin(*item.operation);
        if (!carry_out()) return;
      } else {
        world_.set_playing(this);
        item.effect->on_event(item.tag);
        world_.set_playing(nullptr);
      }
    }
    aim();
    if (target_ > progress_) return;
    if (next_item_ < items_.size()) continue;
    begin(*last_);
    if (carry_out()) finish();
    return;
  }
}

void Thread::finish() {
  last_ = nullptr;
  target_ = forever;  // until its code has run
  world_.wake(*this);
}

}  // namespace rkv::sim
