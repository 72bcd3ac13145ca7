#include "core/verbs_load/verbs_load_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "core/exchange/wait_set_of.hpp"
#include "core/verbs_load/client_slots.hpp"

namespace rkv {
namespace {

constexpr std::uint32_t most_taken = 16;  // completions a look

// Whether the client learns of the end of each operation, and not by a later one's.
bool each_is_noticed(const Scenario& scenario) {
  return scenario.queue_pair.signal_interval == 1 || watches(scenario);
}

SendOperation send_operation(VerbsOptions::Operation operation) {
  switch (operation) {
    case VerbsOptions::Operation::send:
      return SendOperation::send;
    case VerbsOptions::Operation::write:
      return SendOperation::write;
    case VerbsOptions::Operation::compare_and_swap:
      return SendOperation::compare_and_swap;
    case VerbsOptions::Operation::fetch_and_add:
      return SendOperation::fetch_and_add;
    case VerbsOptions::Operation::read:
      break;
  }
  return SendOperation::read;
}

}  // namespace

VerbsLoadClient::VerbsLoadClient(const Port& port, const Scenario& scenario, const StopFlag& stop,
                                 QueueGroup& group, const Place& place, std::atomic<std::uint64_t>& progress)
    : runtime_(*port.runtime),
      scenario_(scenario),
      stop_(stop),
      quota_(place.operations == 0 ? std::numeric_limits<std::uint64_t>::max()
                                   : place.operations + scenario.load.warm_up_operations),
      progress_(progress),
      rng_(scenario.seed, place.client, Purpose::operation),
      stride_(slot_stride_bytes(scenario)),
      places_(places_of_a_slot(scenario)),
      group_(group),
      member_(place.member),
      lanes_(group.queue_pairs()),
      set_(wait_set_of(port, group.completions(), stop)),
      waiter_(*set_, client_policy(scenario)),
      taken_(most_taken),
      slots_(scenario.load.window) {
  region_ = port.device->make_region(std::size_t{stride_} * slots_.size());
  ended_.reserve(slots_.size());
  batch_.reserve(scenario.queue_pair.doorbell_batch);
}

bool VerbsLoadClient::issuing() const {
  return measurement_.complete && issued_ < quota_ && time_ < schedule_.end;
}

void VerbsLoadClient::run(const LoadSchedule& schedule, const Target& target) {
  schedule_ = schedule;
  target_ = target;
  time_ = schedule.start;
  runtime_.sleep_until(schedule.start, stop_);
  while (issuing()) issue();
  post_batch();
  if (measurement_.complete) {
    (void)wait_until([&] { return outstanding_ == 0; });
  }
  (void)runtime_.now();
  record_ended();
  measurement_.usage = runtime_.usage();
}

void VerbsLoadClient::issue() {
  const std::uint32_t interval = scenario_.queue_pair.signal_interval;
  const auto index = static_cast<std::uint32_t>(issued_ % slots_.size());
  Slot& slot = slots_[index];
  const bool each_noticed = each_is_noticed(scenario_);
  // Nothing later tells of a quota's last operations: they go to every queue pair once, signalled.
  const std::uint64_t left = quota_ - issued_;
  const bool closes = !each_noticed && left <= lanes_.size();
  if (closes) post_batch();
  if (batch_.empty()) {
    batch_lane_ = static_cast<std::uint32_t>(closes ? left - 1 : rng_.below(lanes_.size()));
  }
  Lane& lane = lanes_[batch_lane_];
  const bool begins_batch = lane.in_batch == 0;
  const bool ends_batch = interval > 1 && lane.in_batch == interval - 1;
  if (scenario_.verbs.rounds && index == 0 && !wait_until([&] { return outstanding_ == 0; })) return;
  const std::uint64_t together =
      closes ? 1 : std::min<std::uint64_t>(left, scenario_.queue_pair.doorbell_batch);
  if (batch_.empty() && !wait_until([&] { return slots_are_free(together); })) return;
  if (ends_batch && !wait_until([&] { return !lane.batch_under_way; })) return;

  const bool signalled = begins_batch || closes;
  const bool watched = each_noticed && !signalled;
  slot.posted = Instant{};
  runtime_.stamp(slot.posted);
  SendRequest& request = batch_.emplace_back(request_of(index));
  request.signalled = signalled;
  request.watched = watched;
  if (watched) region_->bytes()[request.offset + request.length - 1] = std::byte{0};
  ++issued_;
  ++lane.uncounted;
  lane.in_batch = (lane.in_batch + 1) % interval;
  if (begins_batch) lane.batch_under_way = true;
  if (signalled || watched) {  // else nobody will tell of it
    slot.taken = true;
    ++outstanding_;
    slot.signalled = signalled;
    slot.lane = batch_lane_;
    // Watched ones may end in any order, so each stands for itself.
    slot.counts_for = each_noticed ? 1 : std::exchange(lane.uncounted, 0);
  }
  if (batch_.size() == scenario_.queue_pair.doorbell_batch) post_batch();
}

// Of the next so many operations.
bool VerbsLoadClient::slots_are_free(std::uint64_t operations) const {
  for (std::uint64_t i = 0; i < operations; ++i) {
    if (slots_[(issued_ + i) % slots_.size()].taken) return false;
  }
  return true;
}

SendRequest VerbsLoadClient::request_of(std::uint32_t slot) {
  const VerbsOptions& verbs = scenario_.verbs;
  SendRequest request{.id = QueueGroup::id(member_, slot),
                      .operation = send_operation(verbs.operation),
                      .region = region_.get(),
                      .offset = slot * stride_,
                      .length = verbs.bytes,
                      .inlined = !verbs.fetches() && verbs.bytes <= scenario_.queue_pair.inline_bytes};
  if (verbs.atomic()) request.operand = 1;
  if (!verbs.sends()) {
    const std::uint64_t places = (target_.bytes - verbs.bytes) / verbs.alignment_bytes + 1;
    request.remote = target_.memory.behind(rng_.below(places) * verbs.alignment_bytes);
  }
  if (places_ > 1) request.offset += static_cast<std::uint32_t>(rng_.below(places_)) * verbs.alignment_bytes;
  return request;
}

void VerbsLoadClient::post_batch() {
  if (batch_.empty() || !measurement_.complete) return;
  const int refused = group_.queue_pair(batch_lane_).post_sends(batch_);
  batch_.clear();
  if (refused != 0) end_with(fmt::format("posting was refused: errno {}", refused));
}

// Clients that have a completion queue in common take what they find and look again: another may have taken
// what this one waits for.
WaitResult VerbsLoadClient::look() {
  return group_.in_common() ? waiter_.look(taken_) : waiter_.wait(taken_, never);
}

template <typename Condition>
bool VerbsLoadClient::wait_until(const Condition& condition) {
  if (condition()) return true;
  post_batch();  // what is waited for may be in it
  while (measurement_.complete && !condition()) {
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
  }
  return measurement_.complete;
}

void VerbsLoadClient::take(const Completion& completion) {
  const std::uint32_t member = QueueGroup::member_of(completion.id);
  const std::uint32_t slot = QueueGroup::slot_of(completion.id);
  if (member == member_) {
    ended(slot, completion.status);
  } else {
    group_.box(member).put(slot, completion.status);
  }
}

void VerbsLoadClient::ended(std::uint32_t index, CompletionStatus status) {
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

void VerbsLoadClient::record_ended() {
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

void VerbsLoadClient::end_with(std::string reason) {
  measurement_.complete = false;
  measurement_.reason = std::move(reason);
}

}  // namespace rkv
