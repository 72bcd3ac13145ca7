// Both ends of a TCP connection over loopback, in this process. Throw verbs::system_error.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "backends/verbs/port/file_descriptor.hpp"
#include "calibration/measure/pairs.hpp"

namespace rkv::calibration {

// In errors, where it happened.
inline constexpr std::string_view tcp_over_loopback = "TCP over loopback";

// With the options of backends/verbs/port/tcp_stream.cpp.
class TcpLink {
 public:
  TcpLink();
  [[nodiscard]] int here() const { return here_.get(); }
  [[nodiscard]] int there() const { return there_.get(); }

 private:
  verbs::FileDescriptor here_;
  verbs::FileDescriptor there_;
};

// At once: the socket has room.
void send_all(int fd, std::span<const std::byte> bytes);
// With `flags` of MSG_DONTWAIT it spins until all have come, with 0 it sleeps.
void receive_all(int fd, std::span<std::byte> bytes, int flags);

// An end from which small messages wake who sleeps at the other one.
[[nodiscard]] PairedSide paired_by_messages(int fd);
// Each pair by one of the connections, of which there are as many.
[[nodiscard]] EachWake run_pairs_by_messages(const PairsOf& what, std::span<const TcpLink> connections);

}  // namespace rkv::calibration
