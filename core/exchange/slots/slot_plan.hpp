// The exchange patterns of Hemmatpour, Montrucchio, Rebaudengo, "Communicating efficiently on cluster-based
// remote direct memory access (RDMA) over InfiniBand protocol" (Applied Sciences 8(11), 2018) that use no
// SEND for requests: requests and, but for the last, responses are frames (core/port/slot_frame.hpp) in slots
// of exposed memory, one for each operation that a client may have under way.
//
// write_write  The client WRITEs its request into the server's memory, which a worker looks at; the server
//              WRITEs the response into the client's memory, which the client looks at.
// write_read   The request as above; the server leaves the response in its own memory, and the client READs
//              until it is there.
// read_write   The client leaves its request in its own memory, and a worker READs until one is there; the
//              response as in write_write.
// read_read    The request as in read_write, the response as in write_read.
// write_send   The request as in write_write, over UC; the server SENDs the response over UD (HERD: Kalia,
//              Kaminsky, Andersen, "Using RDMA efficiently for key-value services", SIGCOMM 2014).
//
// With slots.immediate the WRITEs of these are WRITEs with immediate: each takes a receive at the other side,
// whose completion tells which of the client's slots to look at, so that this side need not look at them all
// and may sleep. The number is the peer's word and is checked as the frame is: it names one of the slots of
// the client whose queue pair it came over, or none.
//
// A slot's frames are numbered, repetitions included, so that one that is old is never news. Frames carry a
// checksum where a READ may meet their writing, and over transports that lose messages, where a late WRITE
// may come upon a newer one.
//
// A server's slots are one region with one key, so that clients can reach each other's: those of a run are
// trusted as far as that. Whatever they put there is checked before it is used.
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
  bool immediate;       // WRITEs take a receive, whose completion tells of them
  FrameCheck request_check;
  FrameCheck response_check;
  std::uint32_t request_slot_bytes;
  std::uint32_t response_slot_bytes;
  std::uint32_t window;       // slots a client
  std::uint32_t queue_pairs;  // a client's

  [[nodiscard]] bool responses_sent() const { return !responses_written && !responses_read; }
  // Whether the server is told of requests, and the client of responses, by completions of their receives.
  [[nodiscard]] bool requests_told() const { return requests_written && immediate; }
  [[nodiscard]] bool responses_told() const { return responses_written && immediate; }
  [[nodiscard]] SendOperation write() const {
    return immediate ? SendOperation::write_with_immediate : SendOperation::write;
  }
};

// The server's message buffers, in slots: of requests, and of responses as they are made and where they are
// READ.
struct SlotCounts {
  std::uint64_t requests = 0;
  std::uint64_t responses = 0;
  std::uint64_t published = 0;
};
[[nodiscard]] SlotCounts slot_counts(const Scenario& scenario, std::uint32_t clients, std::uint32_t workers);

// What one queue pair of either side is asked to hold, and the completion queues of a worker that has so many
// clients: of what it posts, and of receives that tell of requests.
[[nodiscard]] std::uint64_t slot_send_depth(const Scenario& scenario);
[[nodiscard]] std::uint64_t slot_completion_depth(const Scenario& scenario, std::uint32_t clients);
[[nodiscard]] std::uint64_t slot_receive_completion_depth(const Scenario& scenario, std::uint32_t clients);
// Requests that a client, and responses that a worker, has under way over one queue pair.
[[nodiscard]] std::uint32_t request_lane_depth(const Scenario& scenario);
[[nodiscard]] std::uint32_t response_lane_depth(const Scenario& scenario);

}  // namespace rkv
