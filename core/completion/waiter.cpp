#include "core/completion/waiter.hpp"

#include <algorithm>

namespace rkv {
namespace {

CompletionMode effective_mode(const CompletionPolicy& policy) {
  return policy.mode == CompletionMode::shared ? policy.shared_wait : policy.mode;
}

}  // namespace

std::uint32_t Waiter::largest_take(const CompletionPolicy& policy) {
  switch (effective_mode(policy)) {
    case CompletionMode::event_batch:
    case CompletionMode::adaptive:
    case CompletionMode::hybrid:
      return std::max(policy.batch, 1U);
    default:
      return 1;
  }
}

bool Waiter::blocks(const CompletionPolicy& policy) {
  return effective_mode(policy) != CompletionMode::busy;
}

Waiter::Waiter(WaitSet& set, const CompletionPolicy& policy)
    : set_(set), take_(largest_take(policy)), spins_(false), blocks_(blocks(policy)) {
  switch (effective_mode(policy)) {
    case CompletionMode::busy:
      spins_ = true;
      break;
    case CompletionMode::adaptive:
      spins_ = true;
      budget_.scans = policy.empty_polls;
      break;
    case CompletionMode::hybrid:
      spins_ = true;
      budget_.cpu_time = policy.spin;
      break;
    default:
      break;
  }
  if (policy.await_event && blocks_ && !spins_) taken_.resize(std::size_t{take_} + 1);
}

WaitResult Waiter::wait(std::span<Completion> out, Instant deadline) {
  const std::span<Completion> room = out.first(std::min<std::size_t>(out.size(), take_));
  if (spins_) {
    const WaitResult result = set_.spin(room, budget_, deadline);
    if (!blocks_ || result.wake != Wake::budget) return result;
  }
  return taken_.empty() ? set_.block(room, deadline) : wait_for_event(room, deadline);
}

WaitResult Waiter::take_left_over(std::span<Completion> out) {
  out.front() = *left_over_;
  left_over_.reset();
  return {.wake = Wake::completions, .source = 0, .count = 1};
}

WaitResult Waiter::wait_for_event(std::span<Completion> out, Instant deadline) {
  if (left_over_) return take_left_over(out);
  WaitResult result = set_.await_event(std::span(taken_).first(out.size() + 1), deadline);
  if (result.count > out.size()) {
    left_over_ = taken_[out.size()];
    result.count = static_cast<std::uint32_t>(out.size());
  }
  std::copy_n(taken_.begin(), result.count, out.begin());
  return result;
}

WaitResult Waiter::look(std::span<Completion> out) {
  return left_over_ ? take_left_over(out) : set_.spin(out, {.scans = 1}, never);
}

}  // namespace rkv
