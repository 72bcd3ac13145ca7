#include "core/exchange/stream_client.hpp"

#include "core/error.hpp"
#include "core/exchange/stream_greeting.hpp"
#include "core/exchange/wait_set_of.hpp"

namespace rkv {
namespace {

StreamSpec spec_of(const MessageFormat& format, std::uint32_t window) {
  return {.receive_capacity = std::size_t{2} * window * format.largest_response_bytes(),
          .transmit_capacity = std::size_t{2} * window * format.largest_request_bytes(),
          .wait = SocketOptions::Wait::read};
}

}  // namespace

StreamClient::StreamClient(const Port& port, const Scenario& scenario, const StopFlag& stop,
                           const StreamAddress& server, std::uint64_t token, std::uint32_t client,
                           Instant deadline)
    : format_(scenario.message),
      window_(scenario.load.window),
      requests_(std::size_t{window_} * format_.largest_request_bytes()),
      stream_(port.streams->dial(server, spec_of(format_, window_), deadline)),
      set_(wait_set_of(port, *stream_, stop)),
      waiter_(*set_, client_policy(scenario)) {
  const StreamGreeting greeting{.token = token, .client = client};
  if (stream_->send(as_bytes(greeting)) != StreamSend::accepted) {
    throw Error("the server at " + server.host + " closed a data connection at once");
  }
}

std::span<std::byte> StreamClient::request_buffer(std::uint32_t slot) {
  return std::span(requests_).subspan(std::size_t{slot} * format_.largest_request_bytes(),
                                      format_.largest_request_bytes());
}

bool StreamClient::send(std::uint32_t slot, std::uint32_t bytes) {
  if (stream_->send(request_buffer(slot).first(bytes)) == StreamSend::accepted) return true;
  broken_ = "the server closed the connection or stopped reading";
  return false;
}

std::uint32_t StreamClient::parse(std::span<ResponseView> out) {
  std::uint32_t count = 0;
  while (count < out.size()) {
    const auto rest = stream_->received().subspan(handed_out_bytes_);
    const auto length = format_.response_length(rest);
    if (!length) {
      ++malformed_;
      broken_ = "the server sent bytes that are no response";
      return count;
    }
    if (*length == 0 || rest.size() < *length) return count;
    if (format_.parse_response(rest.first(*length), out[count])) {
      ++count;
    } else {
      ++malformed_;
    }
    handed_out_bytes_ += *length;
  }
  return count;
}

Received StreamClient::receive(std::span<ResponseView> out, Instant deadline) {
  stream_->consume(handed_out_bytes_);
  handed_out_bytes_ = 0;
  for (;;) {
    const std::uint32_t count = parse(out);
    if (count != 0) return {.outcome = ReceiveOutcome::responses, .count = count};
    if (!broken_.empty()) return {.outcome = ReceiveOutcome::broken};
    Completion completion;
    const WaitResult result = waiter_.wait(std::span(&completion, 1), deadline);
    if (result.wake == Wake::stopped) return {.outcome = ReceiveOutcome::stopped};
    if (result.wake != Wake::completions) return {.outcome = ReceiveOutcome::deadline};
    if (completion.status != CompletionStatus::ok) {
      broken_ = name(completion.status);
      return {.outcome = ReceiveOutcome::broken};
    }
  }
}

}  // namespace rkv
