// Connected byte streams: kernel TCP on the real side, its model in simulation. The sockets baseline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/port/time.hpp"
#include "core/scenario/scenario.hpp"

namespace rkv {

struct StreamAddress {
  std::string host;  // numeric
  std::uint16_t port = 0;
};

enum class StreamSend : std::uint8_t {
  accepted,  // all bytes were taken; the caller's buffer is free again
  closed,    // the peer is gone
  overflow,  // the peer does not read: more than transmit_capacity bytes would be waiting
};

struct StreamSpec {
  std::size_t receive_capacity = 0;   // bytes kept until they are consumed
  std::size_t transmit_capacity = 0;  // bytes kept when the transport takes no more; a wait sends them on
  // Call select(2) before reading when a WaitSet of this stream alone blocks.
  SocketOptions::Wait wait = SocketOptions::Wait::read;
};

// One thread at a time.
class Stream {
 public:
  virtual ~Stream() = default;
  // What came and was not consumed yet, in order. Valid until the next wait or consume.
  [[nodiscard]] virtual std::span<const std::byte> received() const = 0;
  virtual void consume(std::size_t bytes) = 0;
  [[nodiscard]] virtual StreamSend send(std::span<const std::byte> bytes) = 0;
  // Ends it in both directions. A wait set of it no longer looks at it.
  virtual void close() = 0;
};

class StreamListener {
 public:
  virtual ~StreamListener() = default;
  [[nodiscard]] virtual StreamAddress address() const = 0;
  // The next connection, or nothing when the deadline passed.
  virtual std::unique_ptr<Stream> accept(const StreamSpec& spec, Instant deadline) = 0;
};

// Thread-safe. Failures throw rkv::Error with address and errno.
class StreamNetwork {
 public:
  virtual ~StreamNetwork() = default;
  // On the host's service address, on a free port; `backlog` connections may wait for accept().
  virtual std::unique_ptr<StreamListener> listen(std::uint32_t backlog) = 0;
  virtual std::unique_ptr<Stream> dial(const StreamAddress& address, const StreamSpec& spec,
                                       Instant deadline) = 0;
};

}  // namespace rkv
