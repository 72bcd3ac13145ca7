#include "backends/sim/port/sim_stream.hpp"

#include <algorithm>

namespace rkv::sim {
namespace {

Source::Costs source_costs(const TcpCosts& tcp) {
  return {.empty_look = tcp.empty_receive(),
          .blocking_look = 0,
          .arm = 0,
          .fall_asleep = tcp.fall_asleep(),
          .event = 0,
          .spent = Spent::kernel};
}

}  // namespace

SimStream::SimStream(Tcp& tcp, TcpConnection& connection, TcpEnd& end, const StreamSpec& spec)
    : Source(source_costs(tcp.costs(end.host)), true),
      world_(tcp.world()),
      costs_(tcp.costs(end.host)),
      connection_(connection),
      end_(end),
      spec_(spec),
      core_(world_.current()->core) {
  end_.in.set_capacity(spec_.receive_capacity);
  end_.user = this;
}

SimStream::~SimStream() {
  close();
  end_.user = nullptr;
  connection_.release();
}

Thread& SimStream::caller() {
  Thread& thread = *world_.current();
  core_ = thread.core;
  thread.footprint_bytes = costs_.switch_footprint_bytes();
  thread.more_behind_another = costs_.after_switch();
  thread.more_after_idle = costs_.after_idle();
  return thread;
}

void SimStream::consume(std::size_t bytes) {
  bytes = std::min(bytes, received_.size());
  if (bytes == 0) return;
  received_.drop_front(bytes);
  end_.in.consume(caller(), bytes);
}

StreamSend SimStream::send(std::span<const std::byte> bytes) {
  if (broken_) return StreamSend::closed;
  Thread& thread = caller();
  if (end_.peer_gone) {
    broken_ = true;
    thread.spend(costs_.system_call(), Spent::kernel);
    return StreamSend::closed;
  }
  thread.spend(costs_.send(bytes.size()), Spent::kernel);
  if (end_.out->excess(bytes.size()) > spec_.transmit_capacity) {
    broken_ = true;
    end_.out->signal(&thread, TcpFlow::Signal::shut);
    return StreamSend::overflow;
  }
  end_.out->send(thread, bytes);
  return StreamSend::accepted;
}

void SimStream::close() {
  if (closed_) return;
  closed_ = broken_ = ended_ = true;
  Thread* thread = world_.current();  // null: the simulation is being taken apart
  if (thread != nullptr) thread->spend(costs_.system_call(), Spent::kernel);
  TcpConnection::close(end_, thread);
}

bool SimStream::ready() const {
  return !ended_ && room() > 0 && (end_.in.visible() > 0 || end_.no_more_bytes);
}

Ps SimStream::take_cost(std::size_t) const {
  return costs_.receive(receivable());
}

Ps SimStream::blocking_overhead() const {
  return spec_.wait == SocketOptions::Wait::select ? costs_.select() : 0;
}

std::uint32_t SimStream::take(Thread&, std::span<Completion> out) {
  if (!ready()) return 0;
  Completion arrival;
  if (const std::size_t bytes = receivable(); bytes > 0) {
    received_.append(end_.in.visible_bytes().first(bytes));
    end_.in.take(bytes);
    arrival.bytes = static_cast<std::uint32_t>(bytes);
  } else {
    ended_ = true;
    arrival.status = CompletionStatus::closed;
  }
  out.front() = arrival;
  return 1;
}

const Core& SimStream::core() const {
  const Core* watcher = core_of_watcher();
  return watcher != nullptr ? *watcher : *core_;
}

void SimStream::on_arrival() {
  if (arrived()) deliver_event();
}

}  // namespace rkv::sim
