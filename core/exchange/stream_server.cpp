#include "core/exchange/stream_server.hpp"

#include <string>

#include "core/error.hpp"
#include "core/exchange/stream_greeting.hpp"
#include "core/exchange/wait_set_of.hpp"

namespace rkv {
namespace {

// How long a new connection may take to say who it is.
constexpr Duration greeting_patience = std::chrono::seconds(2);
// Connections of others that may wait beside the clients' until they are accepted and closed.
constexpr std::uint32_t room_for_strangers = 64;

}  // namespace

StreamHub::StreamHub(const Port& port, const Scenario& scenario, std::uint32_t clients, std::uint32_t workers)
    : port_(port),
      scenario_(scenario),
      format_(scenario.message),
      workers_(workers),
      listener_(port.streams->listen(clients + room_for_strangers)),
      streams_(clients) {}

void StreamHub::accept(std::uint64_t token, const StopFlag& stop, Instant deadline) {
  const std::uint32_t window = scenario_.load.window;
  const StreamSpec spec{.receive_capacity = std::size_t{2} * window * format_.largest_request_bytes(),
                        .transmit_capacity = std::size_t{2} * window * format_.largest_response_bytes(),
                        .wait = scenario_.socket.server_wait};
  for (std::size_t missing = streams_.size(); missing > 0;) {
    std::unique_ptr<Stream> stream = listener_->accept(spec, deadline);
    if (!stream) {
      throw Error(std::to_string(missing) + " of " + std::to_string(streams_.size()) +
                  " clients did not open their data connection in time");
    }
    const auto set = wait_set_of(port_, *stream, stop);
    const Instant patience = std::min(deadline, port_.runtime->now() + greeting_patience);
    Completion completion;
    while (stream->received().size() < stream_greeting_bytes) {
      const WaitResult result = set->block(std::span(&completion, 1), patience);
      if (result.wake != Wake::completions || completion.status != CompletionStatus::ok) break;
    }
    if (stop.requested()) throw Error("stopped while the clients were connecting");
    if (stream->received().size() < stream_greeting_bytes) continue;
    const StreamGreeting greeting = read_greeting(stream->received());
    if (greeting.token != token || greeting.client >= streams_.size() || streams_[greeting.client]) continue;
    stream->consume(stream_greeting_bytes);
    streams_[greeting.client] = std::move(stream);
    --missing;
  }
}

class StreamWorker final : public ServerExchange {
 public:
  StreamWorker(StreamHub& hub, std::uint32_t worker, const StopFlag& stop)
      : hub_(hub),
        set_(set_of(worker, stop)),
        waiter_(*set_, hub.scenario_.completion),
        response_(hub.format_.largest_response_bytes()) {}

  Incoming receive(std::span<IncomingRequest> out) override {
    Connection* connection = &connections_[current_];
    connection->stream->consume(consumed_);
    consumed_ = 0;
    for (;;) {
      const std::uint32_t count = connection->broken ? 0 : parse(*connection, out);
      if (count != 0) return {.stopped = false, .count = count};
      // What was rejected is of this connection; the next to speak may be another.
      connection->stream->consume(consumed_);
      consumed_ = 0;
      Completion completion;
      const WaitResult result = waiter_.wait(std::span(&completion, 1), never);
      if (result.wake != Wake::completions) return {.stopped = true, .count = 0};
      current_ = result.source;
      connection = &connections_[current_];
      if (completion.status != CompletionStatus::ok) break_connection(*connection);
    }
  }

  [[nodiscard]] std::span<std::byte> response_buffer(const IncomingRequest&) override { return response_; }

  void respond(const IncomingRequest& request, std::uint32_t bytes) override {
    Connection& connection = connections_[current_];
    if (connection.session != request.session || connection.broken) return;
    if (connection.stream->send(std::span(response_).first(bytes)) != StreamSend::accepted) {
      break_connection(connection);
    }
  }

  [[nodiscard]] std::uint32_t largest_take() const override { return hub_.scenario_.load.window; }
  [[nodiscard]] std::uint64_t rejected() const override { return rejected_; }
  [[nodiscard]] std::uint64_t broken_sessions() const override { return broken_; }

 private:
  struct Connection {
    Stream* stream = nullptr;
    std::uint32_t session = 0;
    bool broken = false;
  };

  std::unique_ptr<WaitSet> set_of(std::uint32_t worker, const StopFlag& stop) {
    std::vector<Stream*> streams;
    for (std::uint32_t client = worker; client < hub_.streams_.size(); client += hub_.workers_) {
      streams.push_back(hub_.streams_[client].get());
      connections_.push_back({.stream = streams.back(), .session = client});
    }
    return hub_.port_.wait_sets->make_wait_set({.completion_queues = {}, .streams = streams}, stop);
  }

  // The whole requests that have arrived on this connection. Bytes that can't be a request end it: where the
  // next message starts is then unknown.
  std::uint32_t parse(Connection& connection, std::span<IncomingRequest> out) {
    std::uint32_t count = 0;
    while (count < out.size()) {
      const auto rest = connection.stream->received().subspan(consumed_);
      const auto length = hub_.format_.request_length(rest);
      if (!length) {
        ++rejected_;
        break_connection(connection);
        return count;
      }
      if (*length == 0 || rest.size() < *length) return count;
      IncomingRequest& request = out[count];
      request.session = connection.session;
      request.error = hub_.format_.parse_request(rest.first(*length), request.request);
      consumed_ += *length;
      if (request.error == ParseError::unreadable || request.request.id.client != connection.session) {
        ++rejected_;
      } else {
        ++count;
      }
    }
    return count;
  }

  void break_connection(Connection& connection) {
    if (connection.broken) return;
    connection.broken = true;
    connection.stream->close();
    ++broken_;
  }

  StreamHub& hub_;
  std::vector<Connection> connections_;  // by source index
  std::unique_ptr<WaitSet> set_;
  Waiter waiter_;
  std::vector<std::byte> response_;
  std::uint32_t current_ = 0;  // the connection whose requests were handed out last
  std::size_t consumed_ = 0;   // bytes of it that those requests took
  std::uint64_t rejected_ = 0;
  std::uint64_t broken_ = 0;
};

std::unique_ptr<ServerExchange> StreamHub::make_worker(std::uint32_t worker, const StopFlag& stop) {
  return std::make_unique<StreamWorker>(*this, worker, stop);
}

}  // namespace rkv
