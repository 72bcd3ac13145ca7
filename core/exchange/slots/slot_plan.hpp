// The exchange patterns of Hemmatpour et al. ("Communication paradigms for high-performance RDMA networking",
// 2018) that use no SEND for requests: requests and, but for the last, responses are frames
// (core/port/slot_frame.hpp) in slots of exposed memory, one for each operation that a client may have under
// way.
//
//                 the request                                      the response
//   write_write   the client WRITEs it, the server looks at its    the server WRITEs it, the client looks at
//                 own memory                                       its own memory
//   write_read    the same                                         the server leaves it in its own memory,
//   the
//                                                                  client READs until it is there
//   read_write    the client leaves it in its own memory, the      the server WRITEs it
//                 server READs until it is there
//   read_read     the same                                         the server leaves it, the client READs
//   write_send    the client WRITEs it over UC                     the server SENDs it over UD (HERD: Kalia,
//                                                                  Kaminsky, Andersen, SIGCOMM 2014)
//
// A slot's frames are numbered, repetitions included, so that one that is old is never news. Frames carry a
// checksum where a READ may meet their writing, and over transports that lose messages, where a late WRITE
// may come upon a newer one.
#pragma once

#include <cstdint>

#include "core/exchange/layout.hpp"
#include "core/message/sizes.hpp"
#include "core/port/device.hpp"

namespace rkv {

struct SlotPlan {
  explicit SlotPlan(const Scenario& scenario);

  bool requests_written;  // else READ by the server
  bool responses_written;
  bool responses_read;  // by the client; neither: sent
  FrameCheck request_check;
  FrameCheck response_check;
  std::uint32_t request_slot_bytes;
  std::uint32_t response_slot_bytes;
  std::uint32_t window;  // slots a client

  [[nodiscard]] bool responses_sent() const { return !responses_written && !responses_read; }
};

// Bytes that are passed over to take a message out of its slot: its copy, its checksum, and the watch's own
// look at that.
[[nodiscard]] constexpr std::uint64_t taking_bytes(FrameCheck check, bool watched, std::uint32_t bytes) {
  const std::uint32_t checks = check == FrameCheck::words ? 0 : watched ? 2 : 1;
  return std::uint64_t{bytes} * (1 + checks);
}

// The server's message buffers, in slots: of requests, and of responses as they are made and where they are
// READ.
struct SlotCounts {
  std::uint64_t requests = 0;
  std::uint64_t responses = 0;
  std::uint64_t published = 0;
};
[[nodiscard]] SlotCounts slot_counts(const Scenario& scenario, std::uint32_t clients, std::uint32_t workers);

// What one queue pair of either side is asked to hold, and the completion queue of a worker that has so many
// clients.
[[nodiscard]] std::uint64_t slot_send_depth(const Scenario& scenario);
[[nodiscard]] std::uint64_t slot_completion_depth(const Scenario& scenario, std::uint32_t clients);
// Responses that a worker has under way over one queue pair.
[[nodiscard]] std::uint32_t response_lane_depth(const Scenario& scenario);

}  // namespace rkv
