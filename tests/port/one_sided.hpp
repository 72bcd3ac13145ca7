// One-sided requests between the slots of two sides.
#pragma once

#include <cstdint>

#include "tests/port/link.hpp"

namespace rkv::test {

inline constexpr std::uint32_t operation_bytes = 100;

// Bytes behind the start of a slot of an exposed region, as peers name them.
[[nodiscard]] inline RemoteMemory remote(const Side& side, std::uint32_t slot, std::uint32_t offset = 0) {
  RemoteMemory memory = side.region->remote();
  memory.address += slot * Side::slot_bytes + offset;
  return memory;
}

// Signalled, with the slot as its id, and as the place that its bytes come from or go to.
[[nodiscard]] inline SendRequest one_sided(SendOperation operation, const Side& side, std::uint32_t slot,
                                           std::uint32_t bytes, const RemoteMemory& memory) {
  SendRequest request;
  request.id = slot;
  request.operation = operation;
  request.region = side.region.get();
  request.offset = slot * Side::slot_bytes;
  request.length = bytes;
  request.remote = memory;
  return request;
}

[[nodiscard]] inline SendRequest watched_read(const Side& side, std::uint32_t slot, std::uint32_t bytes,
                                              const RemoteMemory& memory) {
  SendRequest request = one_sided(SendOperation::read, side, slot, bytes, memory);
  request.signalled = false;
  request.watched = true;
  return request;
}

[[nodiscard]] inline bool nothing_comes(const PortPair& ports, WaitSet& set) {
  using namespace std::chrono_literals;
  return take(How::spin, set, ports.client.runtime->now() + 100us).result.wake == Wake::deadline;
}

}  // namespace rkv::test
