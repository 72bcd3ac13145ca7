// Two queue pairs that are connected to each other, with all that it takes to use them.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "tests/port/port_fixture.hpp"

namespace rkv::test {

struct SideOptions {
  std::uint32_t depth = 16;  // of queues; completion queues have room for four times as many
  std::uint32_t inline_bytes = 0;
  bool blockable = true;
  bool one_sided = false;                              // its region is exposed, and the peer may use it
  CompletionQueue* shared_receives = nullptr;          // used instead of one of its own
  CompletionQueue* shared_sends = nullptr;             // likewise
  SharedReceiveQueue* shared_receive_queue = nullptr;  // receives are posted there
};

// One end: a region of slots, a queue pair, two completion queues, a wait set for each of them. Slot i of the
// region is slot_bytes long, headroom included, and is used for work requests with the id i.
class Side {
 public:
  static constexpr std::uint32_t slot_bytes = 1024;
  static constexpr std::uint32_t slots = 64;

  Side(const Port& port, Transport transport, const SideOptions& options);

  // The payload's place in a slot, behind the headroom that a receive needs.
  [[nodiscard]] std::span<std::byte> payload(std::uint64_t slot) const;
  [[nodiscard]] int post_receive(std::uint64_t slot, std::uint32_t payload_bytes = 512);
  [[nodiscard]] int post_send(std::uint64_t slot, std::uint32_t bytes, bool signalled = true,
                              bool inlined = false);

  Transport transport;
  std::unique_ptr<StopFlag> stop;
  std::unique_ptr<MemoryRegion> region;
  std::unique_ptr<CompletionQueue> send_queue;     // null when it shares one
  std::unique_ptr<CompletionQueue> receive_queue;  // likewise
  std::unique_ptr<AddressHandle> peer;             // UD
  std::unique_ptr<QueuePair> pair;
  std::unique_ptr<WaitSet> sends;
  std::unique_ptr<WaitSet> receives;
};

void connect(const PortPair& ports, Side& server, Side& client);

// Declared after a test's threads: when an assertion throws, they end and can be joined.
class StopAtExit {
 public:
  explicit StopAtExit(StopFlag& flag) : flag_(flag) {}
  StopAtExit(const StopAtExit&) = delete;
  StopAtExit& operator=(const StopAtExit&) = delete;
  ~StopAtExit() { flag_.request(); }

 private:
  StopFlag& flag_;
};

enum class How { spin, block, await_event };

WaitResult wait(How how, WaitSet& set, std::span<Completion> out, Instant deadline);

// Waits for one completion, until the deadline.
struct Taken {
  WaitResult result;
  Completion completion;
};
[[nodiscard]] Taken take(How how, WaitSet& set, Instant deadline = never);

}  // namespace rkv::test
