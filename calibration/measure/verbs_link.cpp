#include "calibration/measure/verbs_link.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/measure/names.hpp"
#include "calibration/measure/stopwatch.hpp"
#include "core/error.hpp"

namespace rkv::calibration {
namespace {

constexpr std::uint32_t queue_depth = 16;
constexpr std::uint32_t headroom_bytes = 64;  // UD's 40, and the alignment kept
constexpr std::uint32_t receive_bytes = VerbsEnd::most_message_bytes + headroom_bytes;
constexpr std::uint32_t thesis_receives = 5;
constexpr std::uint32_t receive_buffers = thesis_receives + 1;  // and that of the message that is handled

}  // namespace

VerbsEnd::VerbsEnd(const Port& port, Transport transport, bool blockable, const StopFlag& stop)
    : port_(port),
      transport_(transport),
      memory_(port.device->make_region(most_message_bytes + receive_buffers * receive_bytes)),
      sends_(port.device->make_completion_queue(2 * queue_depth, blockable)),
      receives_(port.device->make_completion_queue(2 * queue_depth, blockable)),
      pair_(port.device->make_queue_pair({.transport = transport,
                                          .send_completions = sends_.get(),
                                          .receive_completions = receives_.get(),
                                          .send_depth = queue_depth,
                                          .receive_depth = queue_depth})),
      copy_(most_message_bytes) {
  CompletionQueue* const sends = sends_.get();
  CompletionQueue* const receives = receives_.get();
  send_waits_ = port.wait_sets->make_wait_set({{&sends, 1}, {}}, stop);
  receive_waits_ = port.wait_sets->make_wait_set({{&receives, 1}, {}}, stop);
  post_receives(thesis_receives - 1);
}

std::uint32_t VerbsEnd::buffer_at(std::uint64_t number) {
  return most_message_bytes + static_cast<std::uint32_t>(number % receive_buffers) * receive_bytes;
}

void VerbsEnd::connect(const VerbsEnd& peer) {
  const Endpoint endpoint = peer.pair_->endpoint();
  pair_->connect(endpoint);
  if (transport_ == Transport::ud) peer_ = port_.device->make_address_handle(endpoint);
}

void VerbsEnd::post_receives(std::uint32_t count) {
  std::array<ReceiveRequest, sampled::posted_together> requests;
  const std::span<ReceiveRequest> posted = std::span(requests).first(count);
  for (ReceiveRequest& request : posted) {
    request = {.id = posted_, .region = memory_.get(), .offset = buffer_at(posted_), .length = receive_bytes};
    ++posted_;
  }
  const int refusal = pair_->post_receives(posted);
  if (refusal != 0)
    throw Error(fmt::format("{}: ibv_post_recv: errno {}", port_.device->device_name(), refusal));
}

void VerbsEnd::post_sends(std::uint32_t bytes, std::uint32_t count) {
  std::array<SendRequest, sampled::posted_together> requests;
  requests.fill({.region = memory_.get(), .length = bytes, .signalled = true, .destination = peer_.get()});
  const int refusal = pair_->post_sends(std::span(requests).first(count));
  if (refusal != 0)
    throw Error(fmt::format("{}: ibv_post_send: errno {}", port_.device->device_name(), refusal));
}

void VerbsEnd::await_receive() {
  Completion completion;
  if (receive_waits_->block({&completion, 1}, never).count == 1) check(completion);
  read_header(completion.id);
}

void VerbsEnd::await_send() {
  std::array<Completion, 2> completions;  // room for more than comes: then the queue is known to be empty
  if (send_waits_->await_event(completions, never).count == 1) check(completions.front());
}

void VerbsEnd::take_receive() {
  read_header(take(*receive_waits_));
}

// A plain read of what nobody uses would be left out.
void VerbsEnd::read_header(std::uint64_t number) {
  message_ =
      memory_->bytes().subspan(buffer_at(number) + receive_headroom_bytes(transport_), most_message_bytes);
  const volatile std::byte& header = message_.front();
  keep(static_cast<std::byte>(header));
}

void VerbsEnd::read_message(std::uint32_t bytes) {
  std::ranges::copy(message_.first(bytes), copy_.begin());
  keep(copy_.data());
}

void VerbsEnd::look_for_receive(std::uint64_t looks) {
  Completion completion;
  const WaitResult result = receive_waits_->spin({&completion, 1}, {.scans = looks}, never);
  if (result.count != 0) throw Error(fmt::format("{}: an unexpected message", port_.device->device_name()));
}

std::uint64_t VerbsEnd::take(WaitSet& set) {
  Completion completion;
  if (set.spin({&completion, 1}, {}, never).count == 1) check(completion);
  return completion.id;
}

void VerbsEnd::check(const Completion& completion) const {
  if (completion.status == CompletionStatus::ok) return;
  throw Error(fmt::format("{}: a message ended with the status '{}'", port_.device->device_name(),
                          name(completion.status)));
}

PairedSide paired_by_events(VerbsEnd& end) {
  return {.wake_other =
              [&end] {
                end.post_send(sampled::small_message_bytes);
                end.take_send();
              },
          .await_other = [&end] { end.await_receive(); }};
}

PairedSide paired_with_receives(VerbsEnd& end) {
  PairedSide side = paired_by_events(end);
  side.await_other = [&end] {
    end.await_receive();
    end.post_receive();
  };
  return side;
}

PairedSide paired_as_in_run(VerbsEnd& end) {
  return {.wake_other =
              [&end] {
                end.post_send(sampled::request_bytes);
                end.await_send();
              },
          .await_other =
              [&end] {
                end.await_receive();
                end.read_message(sampled::request_bytes);
                end.post_receive();
              }};
}

}  // namespace rkv::calibration
