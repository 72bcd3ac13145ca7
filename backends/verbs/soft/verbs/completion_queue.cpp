#include "backends/verbs/soft/verbs/completion_queue.hpp"

#include <bit>
#include <cerrno>
#include <mutex>
#include <utility>

#include "backends/verbs/soft/verbs/clock.hpp"

namespace rkv::soft {
namespace {

void store(CompletionQueue::Slot& slot, const Completion& completion, std::uint64_t position) {
  slot.completion = completion;
  slot.sequence.store(static_cast<std::uint32_t>(position + 1), std::memory_order_release);
}

}  // namespace

bool CompletionQueue::allocate(std::uint32_t entries) {
  const std::size_t slots = std::bit_ceil(std::size_t{entries});
  ZeroedPages memory(slots * sizeof(Slot));
  if (memory.data() == nullptr) {
    return false;
  }
  rings.push_back(std::make_unique<Ring>(Ring{static_cast<std::uint32_t>(slots - 1), std::move(memory)}));
  ring.store(rings.back().get(), std::memory_order_release);
  capacity = entries;
  ibv.cqe = static_cast<int>(entries);
  return true;
}

int CompletionQueue::resize(std::uint32_t entries) {
  const std::scoped_lock lock(consumer_lock, producer_lock);
  const std::uint64_t first = head.load(std::memory_order_relaxed);
  if (tail - first > entries) {
    return EINVAL;
  }
  const Ring* const old = ring.load(std::memory_order_relaxed);
  if (!allocate(entries)) {
    return ENOMEM;
  }
  const Ring* const fresh = ring.load(std::memory_order_relaxed);
  for (std::uint64_t position = first; position != tail; ++position) {
    store(fresh->at(position), old->at(position).completion, position);
  }
  return 0;
}

PushResult CompletionQueue::push(const Completion& completion, bool solicited) noexcept {
  const std::scoped_lock lock(producer_lock);
  if (tail - known_head >= capacity) {
    known_head = head.load(std::memory_order_acquire);
    if (tail - known_head >= capacity) {
      const bool before = overrun;
      overrun = true;
      return before ? PushResult::overrun_before : PushResult::overrun_now;
    }
  }
  if (overrun) {
    return PushResult::overrun_before;
  }
  Slot& slot = ring.load(std::memory_order_relaxed)->at(tail);
  slot.completion = completion;
  if (timestamps) {
    slot.completion.timestamp_ns = wallclock ? wall_clock_ns() : monotonic_ns();
  }
  slot.sequence.store(static_cast<std::uint32_t>(tail + 1), std::memory_order_release);
  ++tail;
  // A completion in error counts as a solicited one (IBA 11.4.2.2).
  if (armed == Armed::no ||
      (armed == Armed::solicited && !solicited && completion.status == IBV_WC_SUCCESS)) {
    return PushResult::queued;
  }
  armed = Armed::no;
  pins.fetch_add(1, std::memory_order_relaxed);
  return PushResult::queued_and_notify;
}

void CompletionQueue::notify() {
  if (ibv.channel != nullptr) {
    CompletionChannel::from(ibv.channel)->push(*this);
  }
  pins.fetch_sub(1, std::memory_order_release);
}

void CompletionQueue::arm(bool solicited_only) noexcept {
  const std::scoped_lock lock(producer_lock);
  if (!solicited_only) {
    armed = Armed::any;
  } else if (armed == Armed::no) {
    armed = Armed::solicited;
  }
}

bool CompletionQueue::pop(Completion& completion) noexcept {
  const std::uint64_t position = head.load(std::memory_order_relaxed);
  const Slot& slot = ring.load(std::memory_order_relaxed)->at(position);
  if (slot.sequence.load(std::memory_order_acquire) != static_cast<std::uint32_t>(position + 1)) {
    return false;
  }
  completion = slot.completion;
  head.store(position + 1, std::memory_order_release);
  CompletionSource& source = *completion.source;
  if (completion.is_receive()) {
    // Only polls of this queue write it, and they hold the consumer lock.
    source.retired_receives.store(source.retired_receives.load(std::memory_order_relaxed) + 1,
                                  std::memory_order_release);
  } else {
    source.retired_sends.store(completion.send_end, std::memory_order_release);
  }
  return true;
}

void CompletionQueue::remove(const CompletionSource& source) {
  const std::scoped_lock lock(consumer_lock, producer_lock);
  const Ring* const slots = ring.load(std::memory_order_relaxed);
  std::uint64_t kept_from = tail;
  for (std::uint64_t position = tail; position-- != head.load(std::memory_order_relaxed);) {
    if (const Completion completion = slots->at(position).completion; completion.source != &source) {
      --kept_from;
      store(slots->at(kept_from), completion, kept_from);
    }
  }
  head.store(kept_from, std::memory_order_release);
}

}  // namespace rkv::soft
