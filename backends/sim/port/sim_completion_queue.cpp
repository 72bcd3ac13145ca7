#include "backends/sim/port/sim_completion_queue.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/sim/port/sim_device.hpp"
#include "core/error.hpp"

namespace rkv::sim {
namespace {

constexpr Ps further_share = 4;  // of `poll`, for each further completion of one look

Source::Costs costs_of(const VerbsProfile& verbs, const SchedulerProfile& os) {
  return {.empty_look = std::max<Ps>(verbs.empty_poll, 1),
          .blocking_look = verbs.empty_poll,
          .arm = verbs.arm,
          .fall_asleep = os.syscall + os.fall_asleep,
          .event = verbs.event + verbs.arm,
          .spent = Spent::poll};
}

}  // namespace

SimCompletionQueue::SimCompletionQueue(SimDevice& device, std::uint32_t number, std::uint32_t depth,
                                       bool blockable)
    : Source(costs_of(device.host().verbs(Transport::uc), device.host().costs().scheduler), blockable),
      device_(device),
      number_(number),
      depth_(depth),
      poll_(device.host().verbs(Transport::uc).poll) {}

SimCompletionQueue::~SimCompletionQueue() {
  device_.forget(number_);
}

void SimCompletionQueue::use_costs_of(Transport transport) {
  const VerbsProfile& verbs = device_.host().verbs(transport);
  set_costs(costs_of(verbs, device_.host().costs().scheduler));
  poll_ = verbs.poll;
  lock_ = device_.make_queue_lock(transport);
  polled_by_ = device_.make_poll_lock(transport);
  set_poll_lock(polled_by_.get());
}

void SimCompletionQueue::attach_sends(Transport transport) {
  use_costs_of(transport);
}

void SimCompletionQueue::attach_receives(Transport transport) {
  const Receives these = transport == Transport::ud ? Receives::datagrams : Receives::connected;
  if (receives_ != Receives::none && receives_ != these) {
    throw Error(fmt::format("{}: UD and connected queue pairs cannot receive into one completion queue",
                            device_.device_name()));
  }
  receives_ = these;
  use_costs_of(transport);
}

const Core* SimCompletionQueue::reader() const {
  const Core* watcher = core_of_watcher();
  return watcher != nullptr ? watcher : reader_;
}

Ps SimCompletionQueue::take_cost(std::size_t room) const {
  const auto count = static_cast<Ps>(std::min(room, finished_.size()));
  if (count == 0) return costs().empty_look;
  Ps cost = poll_ + (count - 1) * poll_ / further_share;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const Core* written_on = finished_[i].written_on;
    if (written_on != nullptr && written_on != core_of_watcher()) cost += device_.soft_elsewhere();
  }
  return cost;
}

std::uint32_t SimCompletionQueue::take(Thread& taker, std::span<Completion> out) {
  if (overrun_) {
    throw Error(
        fmt::format("{}: a completion queue of {} entries has overrun", device_.device_name(), depth_));
  }
  if (const Core* watcher = core_of_watcher()) reader_ = watcher;
  std::uint32_t count = 0;
  while (count < out.size() && !finished_.empty()) {
    const Finished& taken = finished_.front();
    device_.card().taken(taken);
    if (!taken.of_send) {
      const bool elsewhere = taken.written_on != nullptr && taken.written_on != taker.core;
      taker.message_byte = elsewhere ? device_.soft_read_a_byte() : 0;
    }
    out[count++] = taken.completion;
    finished_.pop_front();
  }
  return count;
}

void SimCompletionQueue::push(const Finished& finished) {
  if (finished_.size() >= depth_) {
    overrun_ = true;
  } else {
    finished_.push_back(finished);
    const Thread* writer = device_.world().cause();
    finished_.back().written_on = writer == nullptr ? nullptr : writer->core;
  }
  if (arrived()) device_.raise_event(*this, number_);
}

void SimCompletionQueue::forget(std::uint32_t queue_pair) {
  std::erase_if(finished_, [&](const Finished& one) { return one.completion.queue_pair == queue_pair; });
}

}  // namespace rkv::sim
