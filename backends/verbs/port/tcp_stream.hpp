// One connected kernel TCP socket as a Stream: partial reads and writes, back pressure, the peer's end.
#pragma once

#include <cstddef>
#include <span>

#include "backends/verbs/port/byte_window.hpp"
#include "backends/verbs/port/file_descriptor.hpp"
#include "core/port/device.hpp"
#include "core/port/stream.hpp"

namespace rkv::verbs {

// How long a blocking recv(2) sleeps at most before it looks at the stop flag, by SO_RCVTIMEO.
inline constexpr Duration receive_slice = std::chrono::milliseconds{50};

// One thread at a time. An overflow ends the stream, since a part of the message may be on its way already.
class TcpStream final : public Stream {
 public:
  // Takes a connected, blocking socket and sets TCP_NODELAY. Throws rkv::Error (`peer` says where).
  TcpStream(FileDescriptor connected, const StreamSpec& spec, const std::string& peer);

  [[nodiscard]] std::span<const std::byte> received() const override { return receive_.bytes(); }
  void consume(std::size_t bytes) override { receive_.consume(bytes); }
  [[nodiscard]] StreamSend send(std::span<const std::byte> bytes) override;
  // What waits to be sent goes as far as the kernel takes it now. The descriptor stays until destruction.
  void close() override;

  // For wait sets:
  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] SocketOptions::Wait wait() const { return wait_; }
  // Reading can tell something new: there is room and the end was not reported yet.
  [[nodiscard]] bool wants_read() const { return !ended_ && receive_.room() > 0; }
  [[nodiscard]] bool wants_write() const { return !transmit_.empty(); }
  // One recv(2), when wants_read(). `flags`: MSG_DONTWAIT, or 0 to sleep for at most receive_slice. True when
  // there is something to report in `arrival`: bytes, or, once, that the stream is closed.
  bool receive(int flags, Completion& arrival);
  // Sends on what waits, as far as the kernel takes it.
  void flush();

 private:
  // Bytes the kernel took. Marks the stream broken when the peer is gone.
  std::size_t send_some(std::span<const std::byte> bytes);
  void give_up();

  FileDescriptor socket_;
  SocketOptions::Wait wait_;
  ByteWindow receive_;
  ByteWindow transmit_;
  bool ended_ = false;   // the end was reported, or brought about by close()
  bool broken_ = false;  // nothing can be sent any more
};

}  // namespace rkv::verbs
