#include "backends/sim/net/tcp_flow.hpp"

#include <algorithm>
#include <utility>

namespace rkv::sim {
namespace {

constexpr unsigned step_bits = 3;

}  // namespace

std::uint64_t TcpFlow::tag_of(Step step, std::uint64_t value) {
  return value << step_bits | static_cast<std::uint64_t>(step);
}

void TcpFlow::record(Thread& by, Step step, std::uint64_t value) {
  ++outstanding_;
  by.record(*this, tag_of(step, value));
}

void TcpFlow::plan(Ps at, Step step, std::uint64_t segment) {
  ++outstanding_;
  way_.world.at(at, *this, tag_of(step, segment));
}

std::size_t TcpFlow::window() const {
  const std::size_t used = unconsumed_ + visible_ + in_flight_;
  return capacity_ > used ? capacity_ - used : 0;
}

std::size_t TcpFlow::excess(std::size_t more_bytes) const {
  const std::size_t all = waiting_ + recorded_ + more_bytes;
  return all > window() ? all - window() : 0;
}

void TcpFlow::send(Thread& by, std::span<const std::byte> bytes) {
  bytes_.append(bytes);
  recorded_ += bytes.size();
  record(by, Step::send, bytes.size());
}

void TcpFlow::signal(Thread* by, Signal signal) {
  if (by != nullptr) {
    record(*by, Step::signal, static_cast<std::uint64_t>(signal));
  } else {
    play_signal(signal);
  }
}

void TcpFlow::abandon() {
  bytes_.drop_back(waiting_ + recorded_);
  waiting_ = recorded_ = 0;
  shut_ = true;
}

void TcpFlow::take(std::size_t bytes) {
  bytes_.drop_front(bytes);
  visible_ -= bytes;
  unconsumed_ += bytes;
}

void TcpFlow::consume(Thread& by, std::size_t bytes) {
  record(by, Step::consume, bytes);
}

void TcpFlow::set_capacity(std::size_t bytes) {
  capacity_ = bytes;
  push();
}

void TcpFlow::play_signal(Signal signal) {
  if (signal == Signal::shut || signal == Signal::closed) abandon();
  transmit(0, signal);
}

void TcpFlow::push() {
  const std::size_t bytes = std::min(window(), waiting_);
  if (bytes == 0) return;
  waiting_ -= bytes;
  in_flight_ += bytes;
  transmit(bytes, Signal::bytes);
}

void TcpFlow::transmit(std::size_t bytes, Signal signal) {
  const std::uint64_t number = first_segment_ + segments_.size();
  segments_.push_back({.bytes = bytes, .signal = signal});
  if (way_.from_host == way_.to.number()) {
    transmit_on_host(number);
    return;
  }
  ++outstanding_;
  way_.network.send(way_.from_host, way_.to.number(), bytes, way_.tcp.header_bytes, *this,
                    tag_of(Step::off_link, number));
}

void TcpFlow::transmit_on_host(std::uint64_t number) {
  const Connection::Receiver receiver = connection_.receiver_of(*this);
  Ps cost = way_.costs_at_receiver.segment(receiver.sleeps);
  Ps early = 0;
  // Null for what the kernel answers by itself, which is no thread's work.
  if (Thread* sender = way_.world.playing()) {
    if (sender->core != &receiver.near) {
      cost += way_.costs_at_receiver.elsewhere();
      early = std::min(cost, way_.costs_at_receiver.early());
    }
    sender->stall(cost, Spent::interrupt);
    segment(number).sent_by = sender;
  }
  const Ps visible_at = way_.world.now() + cost - early;
  segment(number).at_host = visible_at;  // has been accounted for
  plan(visible_at, Step::handled, number);
}

void TcpFlow::interrupt(std::uint64_t number) {
  segment(number).at_host = way_.world.now();
  const Connection::Receiver receiver = connection_.receiver_of(*this);
  ++outstanding_;
  way_.to.cpus().interrupt(receiver.near, 0, way_.costs_at_receiver.segment(receiver.sleeps), *this,
                           tag_of(Step::handled, number));
}

// Segments that overtook another (on the link, or because their interrupts were handled on another CPU) wait
// for it.
void TcpFlow::deliver() {
  while (!segments_.empty() && segments_.front().handled) {
    const Segment first = segments_.front();
    segments_.pop_front();
    ++first_segment_;
    in_flight_ -= first.bytes;
    visible_ += first.bytes;
    way_.world.set_cause(first.sent_by, true);  // Linux: sock_def_readable()
    connection_.arrived(*this, first.signal);
    way_.world.set_cause(nullptr);
  }
}

void TcpFlow::on_event(std::uint64_t tag) {
  const std::uint64_t value = tag >> step_bits;
  switch (static_cast<Step>(tag & ((1U << step_bits) - 1))) {
    case Step::send:
      if (shut_) break;  // dropped already
      recorded_ -= value;
      waiting_ += value;
      push();
      break;
    case Step::consume:
      unconsumed_ -= value;
      push();
      break;
    case Step::signal:
      play_signal(static_cast<Signal>(value));
      break;
    case Step::off_link:
      way_.world.spent().add(Spent::nic, way_.tcp.latency);
      plan(way_.world.now() + way_.tcp.latency, Step::at_host, value);
      break;
    case Step::at_host:
      interrupt(value);
      break;
    case Step::handled:
      way_.world.spent().add(Spent::interrupt, way_.world.now() - segment(value).at_host);
      segment(value).handled = true;
      deliver();
      break;
  }
  --outstanding_;  // not before, so that nothing above can destroy this
  if (outstanding_ == 0) connection_.settled(*this);
}

}  // namespace rkv::sim
