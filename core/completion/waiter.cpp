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
}

WaitResult Waiter::wait(std::span<Completion> out, Instant deadline) {
  const std::span<Completion> room = out.first(std::min<std::size_t>(out.size(), take_));
  if (spins_) {
    const WaitResult result = set_.spin(room, budget_, deadline);
    if (!blocks_ || result.wake != Wake::budget) return result;
  }
  return set_.block(room, deadline);
}

WaitResult Waiter::look(std::span<Completion> out) {
  return set_.spin(out, {.scans = 1}, never);
}

}  // namespace rkv
