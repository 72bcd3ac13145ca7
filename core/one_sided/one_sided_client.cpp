#include "core/one_sided/one_sided_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "core/exchange/layout.hpp"
#include "core/exchange/wait_set_of.hpp"

namespace rkv {
namespace {

constexpr std::uint32_t most_taken = 16;  // completions a look

// Whether the client learns of the end of each operation, and not by a later one's.
bool each_is_noticed(const Scenario& scenario) {
  const bool reads = scenario.one_sided.operation == OneSidedOptions::Operation::read;
  return scenario.queue_pair.signal_interval == 1 || (reads && scenario.one_sided.watch);
}

}  // namespace

OneSidedClient::OneSidedClient(const Port& port, const Scenario& scenario, const StopFlag& stop,
                               QueueGroup& group, const Place& place, std::atomic<std::uint64_t>& progress)
    : runtime_(*port.runtime),
      scenario_(scenario),
      stop_(stop),
      quota_(place.operations == 0 ? std::numeric_limits<std::uint64_t>::max()
                                   : place.operations + scenario.load.warm_up_operations),
      progress_(progress),
      rng_(scenario.seed, place.client, Purpose::operation),
      stride_(round_to_line(scenario.one_sided.bytes)),
      group_(group),
      member_(place.member),
      lanes_(group.queue_pairs()),
      set_(wait_set_of(port, group.completions(), stop)),
      waiter_(*set_, client_policy(scenario)),
      taken_(most_taken),
      slots_(scenario.load.window) {
  region_ = port.device->make_region(std::size_t{stride_} * slots_.size());
  ended_.reserve(slots_.size());
}

bool OneSidedClient::issuing() const {
  return measurement_.complete && issued_ < quota_ && time_ < schedule_.end;
}

void OneSidedClient::run(const LoadSchedule& schedule, const Target& target) {
  schedule_ = schedule;
  target_ = target;
  time_ = schedule.start;
  runtime_.sleep_until(schedule.start, stop_);
  while (issuing()) post();
  if (measurement_.complete) {
    (void)wait_until([&] { return outstanding_ == 0; });
  }
  (void)runtime_.now();
  record_ended();
  measurement_.usage = runtime_.usage();
}

void OneSidedClient::post() {
  const bool reads = scenario_.one_sided.operation == OneSidedOptions::Operation::read;
  const std::uint32_t interval = scenario_.queue_pair.signal_interval;
  const auto index = static_cast<std::uint32_t>(issued_ % slots_.size());
  Slot& slot = slots_[index];
  const bool each_noticed = each_is_noticed(scenario_);
  // Nothing later tells of a quota's last operations: they go to every queue pair once, signalled.
  const std::uint64_t left = quota_ - issued_;
  const bool closes = !each_noticed && left <= lanes_.size();
  const auto lane_index = static_cast<std::uint32_t>(closes ? left - 1 : rng_.below(lanes_.size()));
  Lane& lane = lanes_[lane_index];
  const bool begins_batch = lane.in_batch == 0;
  const bool ends_batch = interval > 1 && lane.in_batch == interval - 1;
  if (scenario_.one_sided.rounds && index == 0 && !wait_until([&] { return outstanding_ == 0; })) return;
  const auto ready = [&] { return !slot.taken && !(ends_batch && lane.batch_under_way); };
  if (!wait_until(ready)) return;

  const bool signalled = begins_batch || closes;
  const bool watched = each_noticed && !signalled;
  const std::uint32_t offset = index * stride_;
  const std::uint32_t bytes = scenario_.one_sided.bytes;
  if (watched) region_->bytes()[offset + bytes - 1] = std::byte{0};
  const std::uint64_t lines = (target_.bytes - bytes) / line_bytes + 1;
  slot.posted = Instant{};
  runtime_.stamp(slot.posted);
  const int refused =
      group_.queue_pair(lane_index)
          .post_send({.id = QueueGroup::id(member_, index),
                      .operation = reads ? SendOperation::read : SendOperation::write,
                      .region = region_.get(),
                      .offset = offset,
                      .length = bytes,
                      .signalled = signalled,
                      .inlined = !reads && bytes <= scenario_.queue_pair.inline_bytes,
                      .watched = watched,
                      .remote = {.address = target_.memory.address + rng_.below(lines) * line_bytes,
                                 .key = target_.memory.key}});
  if (refused != 0) return end_with(fmt::format("posting was refused: errno {}", refused));
  ++issued_;
  ++lane.uncounted;
  lane.in_batch = (lane.in_batch + 1) % interval;
  if (begins_batch) lane.batch_under_way = true;
  if (!signalled && !watched) return;  // nobody will tell of it
  slot.taken = true;
  ++outstanding_;
  slot.signalled = signalled;
  slot.lane = lane_index;
  // Watched ones may end in any order, so each stands for itself.
  slot.counts_for = each_noticed ? 1 : std::exchange(lane.uncounted, 0);
}

// Clients that have a completion queue in common take what they find and look again: another may have taken
// what this one waits for.
WaitResult OneSidedClient::look() {
  return group_.in_common() ? waiter_.look(taken_) : waiter_.wait(taken_, never);
}

template <typename Condition>
bool OneSidedClient::wait_until(const Condition& condition) {
  while (!condition()) {
    const WaitResult result = look();
    record_ended();
    // A wait that always finds a completion never tells of the stop flag.
    if (result.wake == Wake::stopped || stop_.requested()) {
      end_with("stopped");
      return false;
    }
    for (const Completion& completion : std::span(taken_).first(result.count)) take(completion);
    if (group_.in_common()) {
      group_.box(member_).empty([this](std::uint32_t slot, CompletionStatus status) { ended(slot, status); });
    }
    if (!measurement_.complete) return false;
  }
  return true;
}

void OneSidedClient::take(const Completion& completion) {
  const std::uint32_t member = QueueGroup::member_of(completion.id);
  const std::uint32_t slot = QueueGroup::slot_of(completion.id);
  if (member == member_) {
    ended(slot, completion.status);
  } else {
    group_.box(member).put(slot, completion.status);
  }
}

void OneSidedClient::ended(std::uint32_t index, CompletionStatus status) {
  if (status != CompletionStatus::ok) {
    return end_with(fmt::format("an operation failed: {}", name(status)));
  }
  Slot& slot = slots_[index];
  slot.taken = false;
  --outstanding_;
  if (slot.signalled) lanes_[slot.lane].batch_under_way = false;
  Ended& end = ended_.emplace_back(Ended{.posted = slot.posted, .at = {}, .operations = slot.counts_for});
  runtime_.stamp(end.at);
}

void OneSidedClient::record_ended() {
  for (const Ended& ended : ended_) {
    time_ = std::max(time_, ended.at);
    done_ += ended.operations;
    if (ended.at < schedule_.warm_up_end || ended.at >= schedule_.end) continue;
    if (done_ <= scenario_.load.warm_up_operations) continue;
    measurement_.first = std::min(measurement_.first, ended.at);
    measurement_.last = std::max(measurement_.last, ended.at);
    // Some of those that ended with this one may be the warm-up's.
    measurement_.operations +=
        std::min<std::uint64_t>(ended.operations, done_ - scenario_.load.warm_up_operations);
    measurement_.latency.record(ended.at - ended.posted);
  }
  ended_.clear();
  progress_.store(done_, std::memory_order_relaxed);
}

void OneSidedClient::end_with(std::string reason) {
  measurement_.complete = false;
  measurement_.reason = std::move(reason);
}

}  // namespace rkv
