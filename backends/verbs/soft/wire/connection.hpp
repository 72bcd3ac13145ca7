// What a connected queue pair keeps of its peer in another process.
//
// Made when the queue pair learns its peer's address, gone with a reset. Two halves, each guarded by its own
// lock: the requester's by the queue pair's send lock, the responder's by the wire's lock (progress.hpp), but
// for what it owes.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "backends/verbs/soft/transport/responder.hpp"
#include "backends/verbs/soft/wire/outbox.hpp"

namespace rkv::soft::wire {

// The sequence numbers of a request that was sent, kept beside its place in the backlog.
struct InFlight {
  std::uint32_t first_psn = 0;
  std::uint32_t packets = 0;    // sequence numbers that it takes up: of an RDMA READ, those of its responses
  std::uint32_t responses = 0;  // of them that have arrived; RDMA READ and atomics
};

// RC: the requests from the backlog's head up to `started` have sequence numbers. The cursor says which
// packet is sent next: behind the newest one, or further back after a loss. Positions are the backlog's,
// modulo 2^32. UC: next_psn alone.
struct Requester {
  std::uint32_t next_psn = 0;      // of the next request that is started
  std::uint32_t sent = 0;          // all before it have been sent, once at least
  std::uint32_t acknowledged = 0;  // all before it are
  std::uint32_t position = 0;      // the cursor: a request
  std::uint32_t packet = 0;        //   and its packet
  std::uint32_t started = 0;
  std::uint32_t reads_outstanding = 0;  // READ and atomic requests whose responses are awaited
  std::uint32_t asked = 0;              // an acknowledgement was asked for of all before it
  bool asks_always = false;             // of each message, until something is acknowledged
  bool recovering = false;              // went back, and nothing was acknowledged since
  bool receiver_not_ready = false;      // sends nothing before the deadline
  std::uint64_t deadline_ns = 0;        // of the oldest packet's acknowledgement, or that; 0: none
  std::uint64_t armed_ns = 0;           // when the timer will look; 0: it won't
  std::vector<InFlight> in_flight;
  PacketFaults faults;

  InFlight& at(std::uint32_t place) { return in_flight[place & (in_flight.size() - 1)]; }
};

enum class PartialMessage : std::uint8_t { none, send, write };

// The result of an atomic, for a requester that asks again.
struct AtomicResult {
  std::uint32_t psn = 0;
  bool valid = false;
  std::uint64_t original = 0;
};

struct Responder {
  std::uint32_t expected_psn = 0;
  std::uint32_t message_number = 0;  // MSN: messages carried out
  bool refused = false;  // said that the expected packet is missing, or that there is no receive for it
  // The acknowledgement that is owed (reliable_responder.hpp), or 0. Whoever takes it out sends it: who holds
  // the wire's lock, or a sender of the same queue pair who has packets for the peer anyway.
  std::atomic<std::uint64_t> owed{0};
  PartialMessage partial = PartialMessage::none;
  PartialSend send;
  // Of an RDMA WRITE: what is left of it.
  std::uint64_t write_address = 0;
  std::uint32_t write_key = 0;
  std::uint32_t write_left_bytes = 0;
  std::uint32_t write_bytes = 0;
  std::vector<AtomicResult> results;
  std::size_t next_result = 0;
  PacketFaults faults;
};

// Made anew for each way that a queue pair is connected.
struct Connection {
  std::uint32_t mtu_bytes = 0;
  Requester requester;
  Responder responder;
};

// Whether a connected queue pair's peer is in another process that can be reached.
bool leads_elsewhere(const QueuePair& qp);
// Gives the queue pair its connection, if it has none. While it is modified, with its send and its receive
// lock held.
void connect(QueuePair& qp);

}  // namespace rkv::soft::wire
