#include "core/exchange/response_receiver.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/exchange/layout.hpp"
#include "core/exchange/reconnection.hpp"
#include "core/exchange/wait_set_of.hpp"

namespace rkv {

ResponseReceiver::ResponseReceiver(const Port& port, const Scenario& scenario, Transport transport,
                                   std::uint32_t queue_pairs, const StopFlag& stop)
    : format_(scenario.message),
      headroom_bytes_(receive_headroom_bytes(transport)),
      stride_(round_to_line(headroom_bytes_ + format_.largest_response_bytes())),
      depth_(scenario.queue_pair.receive_depth),
      posted_(depth_ * queue_pairs),
      take_(Waiter::largest_take(client_policy(scenario))),
      buffers_(port.device->make_region(region_bytes(std::uint64_t{posted_} + take_, stride_))),
      completions_(port.device->make_completion_queue(posted_, Waiter::blocks(client_policy(scenario)))),
      set_(wait_set_of(port, *completions_, stop)),
      waiter_(*set_, client_policy(scenario)),
      chains_(queue_pairs, ReceiveChain(scenario.queue_pair.receive_batch)),
      taken_(take_) {
  spare_.reserve(std::size_t{posted_} + take_);
  handed_out_.reserve(std::size_t{posted_} + take_);
}

void ResponseReceiver::attach(std::vector<QueuePair*> queue_pairs) {
  queue_pairs_ = std::move(queue_pairs);
  broken_ = {};
  spare_.clear();
  handed_out_.clear();
  for (ReceiveChain& chain : chains_) chain.clear();
  for (std::uint32_t buffer = 0; buffer < posted_; ++buffer) {
    const std::uint32_t queue_pair = buffer / depth_;
    if (queue_pairs_[queue_pair]->post_receive(receive_into(queue_pair, buffer)) != 0) {
      throw Error("the client's receives could not be posted");
    }
  }
  for (std::uint32_t i = 0; i < take_; ++i) spare_.push_back(posted_ + i);
}

std::size_t ResponseReceiver::kept() const {
  std::size_t kept = spare_.size() + handed_out_.size();
  for (const ReceiveChain& chain : chains_) kept += chain.waiting().size();
  return kept;
}

void ResponseReceiver::keep(std::span<const Completion> completions) {
  for (const Completion& completion : completions) {
    spare_.push_back(id_number(completion.id));
  }
}

bool ResponseReceiver::take_back() {
  while (kept() < std::size_t{posted_} + take_) {
    const WaitResult result = waiter_.wait(taken_, never);
    if (result.wake == Wake::stopped) return false;
    keep(std::span(taken_).first(result.count));
  }
  return true;
}

ReceiveRequest ResponseReceiver::receive_into(std::uint32_t queue_pair, std::uint32_t buffer) const {
  return {.id = request_id(queue_pair, buffer),
          .region = buffers_.get(),
          .offset = buffer * stride_,
          .length = headroom_bytes_ + format_.largest_response_bytes()};
}

Received ResponseReceiver::receive(std::span<ResponseView> out, Instant deadline) {
  while (broken_.empty()) {
    spare_.insert(spare_.end(), handed_out_.begin(), handed_out_.end());
    handed_out_.clear();
    const std::size_t room = std::min(out.size(), taken_.size());
    const WaitResult result = waiter_.wait(std::span(taken_).first(room), deadline);
    if (result.wake == Wake::stopped) return {.outcome = ReceiveOutcome::stopped};
    if (result.wake != Wake::completions) return {.outcome = ReceiveOutcome::deadline};
    Received received{.outcome = ReceiveOutcome::responses};
    for (std::uint32_t i = 0; i < result.count; ++i) {
      const Completion& completion = taken_[i];
      if (completion.status != CompletionStatus::ok) {
        keep(std::span(taken_).subspan(i, result.count - i));
        break_off(name(completion.status), tells_of_loss(completion.status));
        break;
      }
      // A fresh receive first, so that the next response never waits for this one's handling.
      const std::uint32_t spare = spare_.back();
      spare_.pop_back();
      const std::uint32_t queue_pair = id_owner(completion.id);
      if (!chains_[queue_pair].add(*queue_pairs_[queue_pair], receive_into(queue_pair, spare))) {
        break_off("posting a receive was refused", false);
        break;
      }
      const std::uint32_t buffer = id_number(completion.id);
      handed_out_.push_back(buffer);
      const std::span<const std::byte> message =
          buffers_->bytes().subspan(std::size_t{buffer} * stride_ + headroom_bytes_, completion.bytes);
      if (format_.parse_response(message, out[received.count])) {
        ++received.count;
      } else {
        ++malformed_;
      }
    }
    if (received.count != 0) return received;
  }
  return {.outcome = ReceiveOutcome::broken};
}

}  // namespace rkv
