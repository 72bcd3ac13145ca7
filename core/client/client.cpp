#include "core/client/client.hpp"

#include <algorithm>
#include <limits>
#include <span>

namespace rkv {
namespace {

// This client's share of all operations, and its warm-up.
std::uint64_t quota_of(const Load& load, std::uint32_t client, std::uint32_t clients) {
  if (load.total_operations == 0) return std::numeric_limits<std::uint64_t>::max();
  return load.warm_up_operations + share_of(load.total_operations, client, clients);
}

}  // namespace

Client::Client(const Environment& environment, std::uint32_t client, ClientExchange& exchange,
               std::atomic<std::uint64_t>& progress, TraceBuffer* trace)
    : runtime_(environment.runtime),
      scenario_(environment.scenario),
      stop_(environment.stop),
      overhead_lock_(environment.overhead_lock),
      client_(client),
      format_(scenario_.message),
      loses_messages_(loses_messages(scenario_.transport)),
      quota_(quota_of(scenario_.load, client, environment.clients)),
      exchange_(exchange),
      progress_(progress),
      trace_(trace),
      turns_(scenario_.load.turns, client, environment.clients),
      operations_(scenario_, client, environment.clients),
      key_(scenario_.message.key_capacity_bytes),
      value_(scenario_.message.value_capacity_bytes),
      slots_(scenario_.load.window),
      free_(scenario_.load.window),
      answered_(std::max(exchange.largest_take(), 1U)) {
  if (open_loop()) arrivals_.emplace(scenario_, client, environment.clients);
  if (scenario_.check) checker_.emplace(scenario_, client, environment.clients);
}

void Client::run(const ClientSchedule& schedule) {
  schedule_ = schedule;
  if (schedule.operations_before > 0) operations_.continue_at(schedule.operations_before);
  runtime_.sleep_until(schedule.start, stop_);
  time_ = schedule.start;
  next_arrival_ = open_loop() ? schedule.start + arrivals_->next() : schedule.start;
  std::vector<ResponseView> responses(answered_.size());
  while (!ended_) {
    if (stop_.requested()) {
      end_with(ClientEnd::stopped, "stopped");
      break;
    }
    issue_ready();
    if (ended_) break;
    const bool idle = free_.all_free();
    if (idle && !issuing()) break;
    if (idle) {
      runtime_.sleep_until(next_deadline(), stop_);
      record_answered();
      continue;
    }
    const Received received = exchange_.receive(responses, next_deadline());
    record_answered();
    switch (received.outcome) {
      case ReceiveOutcome::responses:
        for (const ResponseView& response : std::span(responses).first(received.count)) take(response);
        break;
      case ReceiveOutcome::deadline:
        time_ = runtime_.now();
        break;
      case ReceiveOutcome::stopped:
        end_with(ClientEnd::stopped, "stopped");
        break;
      case ReceiveOutcome::reconnected:
        ++measurement_.reconnections;
        send_all_again();
        break;
      case ReceiveOutcome::broken:
        end_with(ClientEnd::broken, exchange_.broken_reason());
        break;
    }
    if (!ended_ && time_ >= earliest_deadline_) look_after_timeouts();
  }
  time_ = runtime_.now();
  record_answered();
  measurement_.malformed = exchange_.malformed();
  measurement_.direct_gets = exchange_.direct_gets();
  measurement_.usage = runtime_.usage();
}

void Client::stay() {
  std::vector<ResponseView> responses(answered_.size());
  ReceiveOutcome outcome{};
  do {
    outcome = exchange_.receive(responses, never).outcome;
  } while (outcome != ReceiveOutcome::stopped && outcome != ReceiveOutcome::broken);
  measurement_.usage = runtime_.usage();
}

// Whether there will be more operations.
bool Client::issuing() const {
  if (issued_ >= quota_) return false;
  return (open_loop() ? next_arrival_ : time_) < schedule_.end;
}

// Whether what is free waits until there is more to be posted together.
bool Client::gathers() const {
  return !paced() &&
         free_.count() < std::min<std::uint64_t>(scenario_.queue_pair.doorbell_batch, quota_ - issued_);
}

void Client::issue_ready() {
  if (gathers()) return;
  if (paced() && !free_.empty()) time_ = runtime_.now();
  if (turns_.next(time_) > time_) return;
  while (!ended_ && !free_.empty() && issuing()) {
    if (free_.next_ready() > time_) return;
    if (!open_loop()) {
      issue(free_.pop(), time_);
      continue;
    }
    if (next_arrival_ > time_) return;
    // Arrivals that could not be issued in time are still issued, but not for ever.
    if (schedule_.end != never && time_ - schedule_.end > schedule_.end - schedule_.start) {
      end_with(ClientEnd::overloaded, "the server does not keep up with the arrival rate");
      return;
    }
    const Instant intended = next_arrival_;
    next_arrival_ = schedule_.start + arrivals_->next();
    issue(free_.pop(), intended);
  }
}

void Client::issue(std::uint32_t slot_index, Instant intended) {
  if (scenario_.client_overhead.kind == ClientOverhead::Kind::thesis) {
    for (int draw = 0; draw < 2; ++draw) overhead_lock_.pass();
  }
  Slot& slot = slots_[slot_index];
  Work work{.requests_made = 1};
  if (scenario_.client_overhead.kind == ClientOverhead::Kind::thesis) work.keys_formatted = 1;
  slot.operation = operations_.next(key_, value_, work);
  runtime_.charge(work);
  slot.sequence = ++sequence_;
  slot.index = issued_++;
  slot.retries = 0;
  slot.busy = true;
  slot.bytes = format_.write_request(
      exchange_.request_buffer(slot_index),
      {.client = client_, .slot = static_cast<std::uint16_t>(slot_index), .sequence = slot.sequence},
      slot.operation.method, std::span(key_).first(slot.operation.key_bytes),
      std::span(value_).first(slot.operation.value_bytes));
  if (checker_) checker_->issued(slot_index, slot.operation);
  if (loses_messages_) {
    slot.timeout = scenario_.retry.timeout;
    slot.deadline = time_ + slot.timeout;
    earliest_deadline_ = std::min(earliest_deadline_, slot.deadline);
  }
  slot.intended = intended;
  runtime_.stamp(slot.sent);
  send(slot_index);
}

bool Client::send(std::uint32_t slot_index) {
  if (exchange_.send(slot_index, slots_[slot_index].bytes)) return true;
  const std::string_view why = exchange_.broken_reason();
  end_with(why.empty() ? ClientEnd::stopped : ClientEnd::broken, why.empty() ? "stopped" : why);
  return false;
}

void Client::send_all_again() {
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].busy) continue;
    ++measurement_.retries;
    if (checker_) checker_->repeated(i);
    if (!send(i)) return;
  }
}

void Client::take(const ResponseView& response) {
  if (response.slot >= slots_.size()) {
    ++measurement_.duplicates;
    return;
  }
  Slot& slot = slots_[response.slot];
  if (!slot.busy || slot.sequence != response.sequence) {
    ++(response.sequence == slot.given_up ? measurement_.late_responses : measurement_.duplicates);
    return;
  }
  Answered& answered = answered_[answered_count_++];
  answered = {.sent = open_loop() ? slot.intended : slot.sent,
              .received = {},
              .index = slot.index,
              .key_id = slot.operation.key_id,
              .method = slot.operation.method,
              .code = response.code};
  runtime_.charge({.responses_read = 1});
  runtime_.stamp(answered.received);
  if (checker_) {
    if (auto complaint = checker_->answered(response.slot, response.code, response.value)) {
      measurement_.violations.add(std::move(*complaint));
    }
  }
  finish_slot(response.slot);
}

// The stamps of the last operations are valid now.
void Client::record_answered() {
  for (const Answered& answered : std::span(answered_).first(answered_count_)) {
    time_ = std::max(time_, answered.received);
    if (answered.index < scenario_.load.warm_up_operations || answered.sent < schedule_.warm_up_end ||
        answered.sent >= schedule_.measured_end) {
      continue;
    }
    measurement_.latency.record(answered.received - answered.sent);
    measurement_.operations.add(answered.method, answered.code);
    measurement_.first_request = std::min(measurement_.first_request, answered.sent);
    measurement_.last_response = std::max(measurement_.last_response, answered.received);
    if (trace_ != nullptr) {
      trace_->add({.sent = answered.sent,
                   .received = answered.received,
                   .key_id = answered.key_id,
                   .method = answered.method,
                   .code = answered.code});
    }
  }
  answered_count_ = 0;
}

void Client::look_after_timeouts() {
  const Instant now = runtime_.now();
  time_ = now;
  earliest_deadline_ = never;
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (!slot.busy) continue;
    slot.deadline = (slot.retries == 0 ? slot.sent : slot.attempted) + slot.timeout;
    if (now >= slot.deadline) {
      ++measurement_.timeouts;
      if (slot.retries == scenario_.retry.retries) {
        ++measurement_.lost;
        slot.given_up = slot.sequence;
        if (checker_) checker_->unanswered(i);
        finish_slot(i);
        continue;
      }
      ++slot.retries;
      ++measurement_.retries;
      if (checker_) checker_->repeated(i);
      slot.timeout *= 2;
      slot.attempted = now;
      slot.deadline = now + slot.timeout;
      if (!send(i)) return;
    }
    earliest_deadline_ = std::min(earliest_deadline_, slot.deadline);
  }
}

void Client::finish_slot(std::uint32_t slot_index) {
  slots_[slot_index].busy = false;
  const bool thinks = scenario_.load.think_time > Duration::zero();
  free_.push(slot_index, thinks ? runtime_.now() + scenario_.load.think_time : Instant::min());
  progress_.store(progress_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void Client::end_with(ClientEnd end, std::string_view reason) {
  ended_ = true;
  measurement_.end = end;
  measurement_.reason = reason;
}

Instant Client::next_deadline() const {
  Instant deadline = earliest_deadline_;
  if (!free_.empty() && issuing() && !gathers()) {
    const Instant ready = std::max(free_.next_ready(), open_loop() ? next_arrival_ : Instant::min());
    deadline = std::min(deadline, turns_.taken() ? turns_.next(std::max(ready, time_)) : ready);
  }
  return deadline;
}

}  // namespace rkv
