// A simulated TCP connection: two ends, a flow in each direction. It stays until nobody holds an end and
// nothing is under way any more, since segments and effects that were planned find it by its address.
#pragma once

#include <cstdint>

#include "backends/sim/cpu/thread.hpp"
#include "backends/sim/net/tcp_flow.hpp"

namespace rkv::sim {

class Tcp;

// Who uses an end: a stream, a thread that dials.
class TcpUser {
 public:
  // Bytes became visible, or the end's state changed.
  virtual void on_arrival() = 0;
  // A thread sleeps until something arrives.
  [[nodiscard]] virtual bool sleeps() const = 0;
  // Where the thread that uses it runs or ran last. Soft interrupts are steered there where their CPU is not
  // fixed, as receive flow steering does (Linux, Documentation/networking/scaling.rst).
  [[nodiscard]] virtual const Core& core() const = 0;

 protected:
  ~TcpUser() = default;
};

struct TcpEnd {
  Host& host;
  TcpFlow in;
  TcpFlow* out = nullptr;  // the other end's in
  TcpUser* user = nullptr;
  // What the peer's segments said so far.
  bool no_more_bytes = false;  // behind those that are visible
  bool peer_gone = false;      // takes none
};

class TcpConnection final : private TcpFlow::Connection {
 public:
  enum class State : std::uint8_t { opening, open, refused };

  // Held once: the client's end.
  TcpConnection(Tcp& tcp, Host& client, Host& server, std::uint16_t port);
  TcpConnection(const TcpConnection&) = delete;
  TcpConnection& operator=(const TcpConnection&) = delete;

  [[nodiscard]] TcpEnd& client() { return client_; }
  [[nodiscard]] TcpEnd& server() { return server_; }
  [[nodiscard]] State state() const { return state_; }

  // Who holds an end calls release(), after close(); the connection may be gone then.
  void hold() { ++holders_; }
  void release();
  // Tells the peer that this end, whose user takes and sends no more, is gone. An effect of the thread, or at
  // once where that is null.
  static void close(TcpEnd& end, Thread* by);

 private:
  [[nodiscard]] TcpFlow::Connection::Receiver receiver_of(const TcpFlow& flow) override;
  void arrived(TcpFlow& flow, TcpFlow::Signal signal) override;
  void settled(TcpFlow& flow) override;
  void end_if_unused();
  [[nodiscard]] TcpEnd& receiving_end(const TcpFlow& flow) {
    return &flow == &server_.in ? server_ : client_;
  }

  Tcp& tcp_;
  const std::uint16_t port_;
  TcpEnd client_;
  TcpEnd server_;
  State state_ = State::opening;
  std::uint32_t holders_ = 1;
};

}  // namespace rkv::sim
