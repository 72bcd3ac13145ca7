// The receiving side of the in-process wire: what a message does at its target.
//
// Each function runs in the sender's thread, which holds its own send lock and no lock of the target. The
// return value is the answer that a reliable sender gets; an unreliable one is told nothing.
#pragma once

#include <cstdint>

#include "backends/verbs/soft/transport/aftermath.hpp"
#include "backends/verbs/soft/transport/copy.hpp"
#include "backends/verbs/soft/verbs/queue_pair.hpp"

namespace rkv::soft {

enum class Answer : std::uint8_t {
  acknowledged,
  none,  // the message was dropped
  receiver_not_ready,
  invalid_request,
  remote_access_error,
  remote_operation_error,
};

struct Message {
  const SendWqe& wqe;
  const QueuePair& sender;
  const Segment* segments;  // the sender's resolved memory: data to send, or where data read goes
  std::uint32_t segment_count;
};

// SEND, with or without immediate data.
Answer receive_send(QueuePair& target, const Message& message, Aftermath& aftermath);
// RDMA WRITE, with or without immediate data, and ATOMIC WRITE.
Answer receive_write(QueuePair& target, const Message& message, Aftermath& aftermath);
Answer serve_read(QueuePair& target, const Message& message, Aftermath& aftermath);
// Compare-and-swap and fetch-and-add.
Answer serve_atomic(QueuePair& target, const Message& message, Aftermath& aftermath);

}  // namespace rkv::soft
