// One direction of a simulated TCP connection: real bytes in order, the window that bounds them, and the way
// of each segment to the receiver.
//
//   between hosts   link (network.hpp), then `latency` of cards and drivers, then a soft interrupt there
//   on one host     the soft interrupt is the sending thread's: it is held up for so long, there is no link
//
// Bytes are visible to the receiver at the end of the soft interrupt; to another CPU's on the same host
// `early` before that. All that the window has room for goes as one segment (segmentation offload): a soft
// interrupt each, headers for each packet.
//
// The window: what is in flight, visible, or taken but not consumed is at most the receiver's capacity. What
// does not fit waits at the sender and moves on when the receiver consumes. Simplified: the window update
// reaches the sender at once and costs nothing, acknowledgements cost nothing, there is no slow start, and
// TCP loses nothing (the network's loss is for UC and UD: TCP's own recovery is not modelled).
//
// A sender's calls are effects of its thread's burst: bytes are captured when send() is called, and leave
// when the burst is played.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "backends/sim/cpu/host.hpp"
#include "backends/sim/cpu/thread.hpp"
#include "backends/sim/net/byte_queue.hpp"
#include "backends/sim/net/network.hpp"
#include "backends/sim/net/tcp_costs.hpp"

namespace rkv::sim {

class TcpFlow final : public EventHandler {
 public:
  // What a segment says to the receiver.
  enum class Signal : std::uint8_t {
    bytes,
    open,      // to a listener
    accepted,  // by it
    refused,
    shut,    // no more bytes come this way
    closed,  // the same, and none are taken the other way
  };

  // The connection that it belongs to.
  class Connection {
   public:
    struct Receiver {
      const Core& near;  // where its soft interrupts are handled, if not on a fixed CPU
      bool sleeps;       // until something comes
    };
    [[nodiscard]] virtual Receiver receiver_of(const TcpFlow& flow) = 0;
    // Segments arrive in order.
    virtual void arrived(TcpFlow& flow, Signal signal) = 0;
    // Nothing that was recorded or planned of the flow is outstanding. May destroy it.
    virtual void settled(TcpFlow& flow) = 0;

   protected:
    ~Connection() = default;
  };

  struct Way {
    World& world;
    Network& network;
    const TcpProfile& tcp;
    const TcpCosts& costs_at_receiver;
    std::uint32_t from_host = 0;
    Host& to;
  };

  TcpFlow(const Way& way, Connection& connection) : way_(way), connection_(connection) {}
  TcpFlow(const TcpFlow&) = delete;
  TcpFlow& operator=(const TcpFlow&) = delete;

  // --- of the sender
  // What does not fit into the window now and would have to wait if so many bytes more were sent.
  [[nodiscard]] std::size_t excess(std::size_t more_bytes) const;
  void send(Thread& by, std::span<const std::byte> bytes);
  // Without bytes, behind those that left already; `shut` and `closed` drop what waits. An effect of the
  // thread, or at once where that is null.
  void signal(Thread* by, Signal signal);
  // The receiver is gone: drops what waits.
  void abandon();

  // --- of the receiver
  [[nodiscard]] std::size_t visible() const { return visible_; }
  [[nodiscard]] std::span<const std::byte> visible_bytes() const { return bytes_.bytes().first(visible_); }
  // At most visible() bytes off the front.
  void take(std::size_t bytes);
  // So many of those taken.
  void consume(Thread& by, std::size_t bytes);
  // The window's size. Until it is known, unaccepted_window.
  void set_capacity(std::size_t bytes);

  // Nothing recorded or planned is outstanding.
  [[nodiscard]] bool idle() const { return outstanding_ == 0; }

  void on_event(std::uint64_t tag) override;

  // Bytes that a connection takes before its receiver has said how many: TCP's largest window without scaling
  // (RFC 9293, 3.1).
  static constexpr std::size_t unaccepted_window = 65'535;

 private:
  enum class Step : std::uint8_t { send, consume, signal, off_link, at_host, handled };
  struct Segment {
    std::size_t bytes = 0;
    Signal signal = Signal::bytes;
    bool handled = false;
    Ps at_host = 0;             // when its soft interrupt was due
    Thread* sent_by = nullptr;  // on one host
  };

  static std::uint64_t tag_of(Step step, std::uint64_t value);
  void record(Thread& by, Step step, std::uint64_t value);
  void plan(Ps at, Step step, std::uint64_t segment);
  void play_signal(Signal signal);
  [[nodiscard]] std::size_t window() const;
  // Sends on what waits and fits into the window.
  void push();
  void transmit(std::size_t bytes, Signal signal);
  void transmit_on_host(std::uint64_t number);
  void interrupt(std::uint64_t number);
  void deliver();
  [[nodiscard]] Segment& segment(std::uint64_t number) { return segments_[number - first_segment_]; }

  const Way way_;
  Connection& connection_;
  std::size_t outstanding_ = 0;  // recorded effects and planned events

  // In this order: visible, in flight, waiting, recorded (in a burst that is not played so far).
  ByteQueue bytes_;
  std::size_t visible_ = 0;
  std::size_t in_flight_ = 0;
  std::size_t waiting_ = 0;
  std::size_t recorded_ = 0;
  std::size_t unconsumed_ = 0;  // taken
  std::size_t capacity_ = unaccepted_window;
  bool shut_ = false;  // nothing is sent any more

  std::deque<Segment> segments_;  // in flight
  std::uint64_t first_segment_ = 0;
};

}  // namespace rkv::sim
