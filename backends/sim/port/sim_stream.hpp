// One end of a simulated TCP connection as a Stream, and as a source of wait sets.
//
// CPU time (net/tcp_costs.hpp): send() costs a send(2); a look by a spinning thread a recv(2); a thread that
// blocks on this stream alone sleeps in recv(2), so that only the one that finds bytes costs, with
// Wait::select preceded by a select(2); one that blocks on several pays an epoll_wait(2) before each. What
// waits in the transmit buffer moves on by itself when the peer consumes (net/tcp_flow.hpp), not only in
// waits.
#pragma once

#include "backends/sim/net/byte_queue.hpp"
#include "backends/sim/net/tcp.hpp"
#include "backends/sim/port/source.hpp"
#include "core/port/stream.hpp"

namespace rkv::sim {

// An overflow ends the sending direction, as on the real side.
class SimStream final : public Stream, public Source, private TcpUser {
 public:
  // Takes over an end that is held. Made by a simulated thread. Throws rkv::Error (`where` says of what) for
  // a receive capacity that is out of range, before it has taken over anything.
  SimStream(Tcp& tcp, TcpConnection& connection, TcpEnd& end, const StreamSpec& spec);
  ~SimStream() override;

  [[nodiscard]] std::span<const std::byte> received() const override { return received_.bytes(); }
  void consume(std::size_t bytes) override;
  [[nodiscard]] StreamSend send(std::span<const std::byte> bytes) override;
  void close() override;

  [[nodiscard]] bool ready() const override;
  [[nodiscard]] Ps take_cost(std::size_t room) const override;
  [[nodiscard]] Ps blocking_overhead() const override;
  [[nodiscard]] Ps multiplexing_overhead() const override { return costs_.epoll(); }
  std::uint32_t take(Thread& taker, std::span<Completion> out) override;

 private:
  void on_arrival() override;
  [[nodiscard]] bool sleeps() const override { return watcher_sleeps(); }
  [[nodiscard]] const Core& core() const override;

  [[nodiscard]] std::size_t room() const { return spec_.receive_capacity - received_.size(); }
  // What a recv(2) would give now.
  [[nodiscard]] std::size_t receivable() const { return std::min(end_.in.visible(), room()); }
  // The thread that calls; remembers where it runs.
  Thread& caller();

  World& world_;
  const TcpCosts& costs_;
  TcpConnection& connection_;
  TcpEnd& end_;
  const StreamSpec spec_;
  ByteQueue received_;
  const Core* core_;     // of the last caller
  bool ended_ = false;   // the end was reported, or brought about by close()
  bool broken_ = false;  // nothing can be sent any more
  bool closed_ = false;
};

}  // namespace rkv::sim
