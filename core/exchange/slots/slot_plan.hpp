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
};

}  // namespace rkv
