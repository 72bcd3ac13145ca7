// The first bytes on a data connection: which client it is for, and the run's token, which went over the
// control connection, so that a stranger's connection is not taken for a client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace rkv {

struct StreamGreeting {
  std::uint64_t token = 0;
  std::uint32_t client = 0;
  std::uint32_t reserved = 0;
};
inline constexpr std::size_t stream_greeting_bytes = sizeof(StreamGreeting);

[[nodiscard]] inline std::span<const std::byte> as_bytes(const StreamGreeting& greeting) {
  return std::as_bytes(std::span(&greeting, 1));
}

// `bytes` holds at least stream_greeting_bytes.
[[nodiscard]] inline StreamGreeting read_greeting(std::span<const std::byte> bytes) {
  StreamGreeting greeting;
  std::memcpy(&greeting, bytes.data(), sizeof greeting);
  return greeting;
}

}  // namespace rkv
