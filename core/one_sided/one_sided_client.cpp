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

// What a batch has under way beside the places: its signalled request, and those that nobody watches.
std::uint32_t one_sided_send_depth(const Scenario& scenario) {
  return scenario.load.window + 2 * scenario.queue_pair.signal_interval;
}

std::uint32_t one_sided_completion_depth(const Scenario& scenario) {
  return scenario.load.window + scenario.one_sided.queue_pairs;
}

OneSidedClient::OneSidedClient(const Port& port, const Scenario& scenario, const StopFlag& stop,
                               std::uint32_t client, std::uint64_t operations,
                               std::atomic<std::uint64_t>& progress)
    : runtime_(*port.runtime),
      scenario_(scenario),
      stop_(stop),
      quota_(operations == 0 ? std::numeric_limits<std::uint64_t>::max()
                             : operations + scenario.load.warm_up_operations),
      progress_(progress),
      rng_(scenario.seed, client, Purpose::operation),
      stride_(round_to_line(scenario.one_sided.bytes)),
      completions_(port.device->make_completion_queue(one_sided_completion_depth(scenario),
                                                      Waiter::blocks(client_policy(scenario)))),
      set_(wait_set_of(port, *completions_, stop)),
      waiter_(*set_, client_policy(scenario)),
      taken_(most_taken),
      places_(scenario.load.window) {
  region_ = port.device->make_region(std::size_t{stride_} * places_.size());
  ended_.reserve(places_.size());
  for (std::uint32_t i = 0; i < scenario.one_sided.queue_pairs; ++i) {
    Lane& lane = lanes_.emplace_back();
    lane.queue_pair = port.device->make_queue_pair({.transport = scenario.transport,
                                                    .send_completions = completions_.get(),
                                                    .receive_completions = completions_.get(),
                                                    .send_depth = one_sided_send_depth(scenario),
                                                    .receive_depth = 1,
                                                    .max_sge = scenario.queue_pair.max_sge,
                                                    .inline_bytes = scenario.queue_pair.inline_bytes,
                                                    .one_sided = true});
  }
}

void OneSidedClient::connect(std::uint32_t index, const Endpoint& peer) {
  lanes_[index].queue_pair->connect(peer);
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
    (void)wait_until([&] {
      return std::none_of(places_.begin(), places_.end(), [](const Place& place) { return place.taken; });
    });
  }
  (void)runtime_.now();
  record_ended();
  measurement_.usage = runtime_.usage();
}

void OneSidedClient::post() {
  const bool reads = scenario_.one_sided.operation == OneSidedOptions::Operation::read;
  const std::uint32_t interval = scenario_.queue_pair.signal_interval;
  const auto index = static_cast<std::uint32_t>(issued_ % places_.size());
  Place& place = places_[index];
  const bool each_noticed = each_is_noticed(scenario_);
  // Nothing later tells of a quota's last operations: they go to every queue pair once, signalled.
  const std::uint64_t left = quota_ - issued_;
  const bool closes = !each_noticed && left <= lanes_.size();
  const auto lane_index = static_cast<std::uint32_t>(closes ? left - 1 : rng_.below(lanes_.size()));
  Lane& lane = lanes_[lane_index];
  const bool begins_batch = lane.in_batch == 0;
  const bool ends_batch = interval > 1 && lane.in_batch == interval - 1;
  const auto ready = [&] { return !place.taken && !(ends_batch && lane.batch_under_way); };
  if (!wait_until(ready)) return;

  const bool signalled = begins_batch || closes;
  const bool watched = each_noticed && !signalled;
  const std::uint32_t offset = index * stride_;
  const std::uint32_t bytes = scenario_.one_sided.bytes;
  if (watched) region_->bytes()[offset + bytes - 1] = std::byte{0};
  const std::uint64_t lines = (target_.bytes - bytes) / line_bytes + 1;
  place.posted = Instant{};
  runtime_.stamp(place.posted);
  const int refused = lane.queue_pair->post_send(
      {.id = index,
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
  place.taken = true;
  place.signalled = signalled;
  place.lane = lane_index;
  // Watched ones may end in any order, so each stands for itself.
  place.counts_for = each_noticed ? 1 : std::exchange(lane.uncounted, 0);
}

template <typename Condition>
bool OneSidedClient::wait_until(const Condition& condition) {
  while (!condition()) {
    const WaitResult result = waiter_.wait(taken_, never);
    record_ended();
    // A wait that always finds a completion never tells of the stop flag.
    if (result.wake == Wake::stopped || stop_.requested()) {
      end_with("stopped");
      return false;
    }
    for (const Completion& completion : std::span(taken_).first(result.count)) take(completion);
    if (!measurement_.complete) return false;
  }
  return true;
}

void OneSidedClient::take(const Completion& completion) {
  if (completion.status != CompletionStatus::ok) {
    return end_with(fmt::format("an operation failed: {}", name(completion.status)));
  }
  Place& place = places_[completion.id];
  place.taken = false;
  if (place.signalled) lanes_[place.lane].batch_under_way = false;
  Ended& ended = ended_.emplace_back(Ended{.posted = place.posted, .at = {}, .operations = place.counts_for});
  runtime_.stamp(ended.at);
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
