#include "backends/sim/port/sim_stream_network.hpp"

#include <fmt/format.h>

#include <limits>

#include "backends/sim/port/sim_stream.hpp"
#include "core/error.hpp"

namespace rkv::sim {
namespace {

std::string to_string(const StreamAddress& address) {
  return fmt::format("{}:{}", address.host, address.port);
}

void check(const StreamSpec& spec, const StreamAddress& where) {
  if (spec.receive_capacity == 0 || spec.receive_capacity > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(to_string(where) + ": a stream's receive capacity must be from 1 byte to 4 GiB - 1");
  }
}

// Sleeps until the connection is answered or the deadline passes.
class Dial final : public Operation, public TcpUser {
 public:
  Dial(Thread& thread, TcpConnection& connection, Ps deadline)
      : thread_(thread), connection_(connection), deadline_(deadline) {
    connection_.client().user = this;
  }
  ~Dial() { connection_.client().user = nullptr; }
  Dial(const Dial&) = delete;
  Dial& operator=(const Dial&) = delete;

  Next step(Thread& thread) override {
    const bool answered = connection_.state() != TcpConnection::State::opening;
    if (answered || thread.world().now() >= deadline_) {
      thread.set_timer(forever);
      return Next::done();
    }
    thread.set_timer(deadline_);
    return Next::sleep();
  }
  void on_signal(Thread& thread) override { thread.wake_up(); }

  void on_arrival() override { thread_.signal(); }
  [[nodiscard]] bool sleeps() const override { return true; }
  [[nodiscard]] const Core& core() const override { return *thread_.core; }

 private:
  Thread& thread_;
  TcpConnection& connection_;
  const Ps deadline_;
};

// Sleeps until there is a connection or the deadline passes.
class Accept final : public Operation {
 public:
  Accept(Thread& thread, TcpListener& listener, Ps deadline)
      : thread_(thread), listener_(listener), deadline_(deadline) {
    listener_.watch(thread_);
  }
  ~Accept() { listener_.forget(thread_); }
  Accept(const Accept&) = delete;
  Accept& operator=(const Accept&) = delete;

  [[nodiscard]] TcpConnection* connection() const { return connection_; }

  Next step(Thread& thread) override {
    connection_ = listener_.accept();
    if (connection_ != nullptr || thread.world().now() >= deadline_) {
      thread.set_timer(forever);
      return Next::done();
    }
    thread.set_timer(deadline_);
    return Next::sleep();
  }
  void on_signal(Thread& thread) override { thread.wake_up(); }

 private:
  Thread& thread_;
  TcpListener& listener_;
  const Ps deadline_;
  TcpConnection* connection_ = nullptr;
};

class SimStreamListener final : public StreamListener {
 public:
  SimStreamListener(Tcp& tcp, Host& host, std::uint32_t backlog)
      : tcp_(tcp), host_(host), listener_(tcp, host, backlog) {}

  [[nodiscard]] StreamAddress address() const override { return {host_.name(), listener_.port()}; }

  std::unique_ptr<Stream> accept(const StreamSpec& spec, Instant deadline) override {
    check(spec, address());
    Thread& thread = *tcp_.world().current();
    thread.spend(tcp_.costs(host_).system_call(), Spent::kernel);
    Accept accept(thread, listener_, to_ps(deadline));
    thread.perform(accept);
    if (accept.connection() == nullptr) return nullptr;
    return std::make_unique<SimStream>(tcp_, *accept.connection(), accept.connection()->server(), spec);
  }

 private:
  Tcp& tcp_;
  Host& host_;
  TcpListener listener_;
};

}  // namespace

std::unique_ptr<StreamListener> SimStreamNetwork::listen(std::uint32_t backlog) {
  return std::make_unique<SimStreamListener>(tcp_, host_, backlog);
}

std::unique_ptr<Stream> SimStreamNetwork::dial(const StreamAddress& address, const StreamSpec& spec,
                                               Instant deadline) {
  check(spec, address);
  Host* peer = tcp_.host(address.host);
  if (peer == nullptr) {
    throw Error(
        fmt::format("{}: no host of the simulation has the name {}", to_string(address), address.host));
  }
  Thread& thread = *tcp_.world().current();
  TcpConnection& connection = tcp_.make_connection(host_, *peer, address.port);
  thread.spend(tcp_.costs(host_).system_call(), Spent::kernel);
  connection.client().out->signal(&thread, TcpFlow::Signal::open);
  {
    Dial dial(thread, connection, to_ps(deadline));
    thread.perform(dial);
  }
  const TcpConnection::State state = connection.state();
  if (state == TcpConnection::State::open) {
    return std::make_unique<SimStream>(tcp_, connection, connection.client(), spec);
  }
  TcpConnection::close(connection.client(), nullptr);
  connection.release();
  throw Error(fmt::format("{}: connect failed: {}", to_string(address),
                          state == TcpConnection::State::refused ? "refused, nobody listens there"
                                                                 : "no answer before the deadline"));
}

}  // namespace rkv::sim
