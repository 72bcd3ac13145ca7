// A TCP connection that carries messages. It never blocks: the reactor's thread reads, whoever sends sends at
// once. Everything wants the reactor's mutex held.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>

#include "backends/verbs/port/file_descriptor.hpp"
#include "backends/verbs/soft/cm/message.hpp"
#include "backends/verbs/soft/cm/reactor.hpp"

namespace rkv::soft::cm {

// Whoever holds a stream. Each call may destroy the stream.
class StreamOwner {
 public:
  // The answer to connect(): 0 or errno.
  virtual void on_connected(int error) = 0;
  // False: the stream was destroyed, or is not to be read any further.
  virtual bool on_message(const Message& message) = 0;
  // The peer closed it (ECONNRESET), or what came is no message (EPROTO), or something else errno knows.
  // Nothing more will come.
  virtual void on_closed(int error) = 0;
  virtual void on_deadline() = 0;

 protected:
  ~StreamOwner() = default;
};

class Stream final : public Source {
 public:
  // Of a non-blocking socket; call connect(), or watch() if it is connected.
  Stream(verbs::FileDescriptor socket, StreamOwner& owner);
  ~Stream() override;

  // 0, or errno; then on_connected() will not come. A destination where nobody listens is tried for a while:
  // programs agree on a port over a connection before, and the one that connects may be the faster one.
  int connect(const sockaddr& destination);
  // 0, or errno.
  int watch();
  void change_owner(StreamOwner& owner) { owner_ = &owner; }
  // False: the connection is broken, which on_closed() will tell.
  bool send(const Message& message);
  void set_deadline(std::uint64_t in_ns) { Reactor::instance().set_deadline(*this, in_ns); }
  void clear_deadline() { Reactor::instance().clear_deadline(*this); }
  int socket() const { return socket_.get(); }

  void on_ready(std::uint32_t events) override;
  void on_deadline() override;

 private:
  int begin_connecting();
  void finish_connecting();
  bool waits_for_listener(int error);
  void receive();

  verbs::FileDescriptor socket_;
  StreamOwner* owner_;
  bool connecting_ = false;
  int refusals_ = 0;
  sockaddr_storage destination_{};
  std::size_t arrived_bytes_ = 0;
  std::array<std::byte, max_message_bytes> arrived_{};
};

}  // namespace rkv::soft::cm
