// The receiving side: what a message does at its target.
//
// A message of this process runs in the sender's thread, which holds its own send lock; one of another
// process in a thread that holds the wire's lock (wire/progress.hpp). Neither holds a lock of the target. The
// return value is the answer that a reliable sender gets; an unreliable one is told nothing.
#pragma once

#include <array>
#include <cstdint>

#include "backends/verbs/soft/transport/aftermath.hpp"
#include "backends/verbs/soft/transport/copy.hpp"
#include "backends/verbs/soft/verbs/limits.hpp"
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

// A queue pair, here or in another process.
struct Sender {
  ibv_qp_type type;
  std::uint32_t number;
  std::uint32_t address;  // IPv4, in the host's byte order
};

struct Message {
  const SendWqe& wqe;
  Sender sender;
  const Segment* segments;  // the sender's resolved memory: data to send, or where data read goes
  std::uint32_t segment_count;
};

// The receive of a SEND whose data arrive in several parts.
struct Receive {
  std::uint64_t wr_id = 0;
  std::uint32_t num_sge = 0;
  const ibv_sge* sges = nullptr;
  const ProtectionDomain* pd = nullptr;
};
struct PartialSend {
  bool begun = false;
  std::uint64_t bytes = 0;  // that have arrived
  Receive receive;          // of a shared queue, taken when the first part arrived
  std::array<ibv_sge, limits::max_sge> sges;
};

// SEND, with or without immediate data.
Answer receive_send(QueuePair& target, const Message& message, Aftermath& aftermath);
// RDMA WRITE, with or without immediate data, and ATOMIC WRITE.
Answer receive_write(QueuePair& target, const Message& message, Aftermath& aftermath);
Answer serve_read(QueuePair& target, const Message& message, Aftermath& aftermath);
// The rules of serve_read() alone: `source` is where the data lie; of no bytes, null. Nothing is done about a
// request that breaks them.
Answer check_read(const QueuePair& target, const Message& message, Segment& source);
// The same; a request that breaks them fails the queue pair.
Answer authorize_read(QueuePair& target, const Message& message, Segment& source, Aftermath& aftermath);
// Compare-and-swap and fetch-and-add.
Answer serve_atomic(QueuePair& target, const Message& message, Aftermath& aftermath);

// Answers a request that breaks a rule: a reliable queue pair fails, an unreliable one ignores the message.
Answer refuse(QueuePair& target, Answer answer, Aftermath& aftermath);

// One part of a SEND, in order; the message's length is the part's. The last one completes the receive.
Answer receive_send_part(QueuePair& target, PartialSend& state, const Message& part, bool last,
                         Aftermath& aftermath);
// Ends a SEND whose other parts won't come: a receive taken from a shared queue is completed as flushed.
// Under the receive lock.
void abandon(QueuePair& target, PartialSend& state, Aftermath& aftermath);
// What an RDMA WRITE's first part must fulfil: the whole range is the sender's to write.
Answer authorize_write(QueuePair& target, const Message& whole, Aftermath& aftermath);
// The immediate data of an RDMA WRITE whose bytes have arrived.
Answer receive_immediate(QueuePair& target, const Message& whole, Aftermath& aftermath);

}  // namespace rkv::soft
