// Where the time of operations goes, summed up over a point: the report's time_spent_ns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "backends/sim/engine/time.hpp"

namespace rkv::sim {

enum class Spent : std::uint8_t {
  program,             // CPU: drawing operations, reading and writing messages, clock reads
  post,                // CPU: posting work requests, arming
  poll,                // CPU: polls that found something, taking events
  store,               // CPU: walking and copying, with waits for the memory's bandwidth
  kernel,              // CPU: system calls, TCP
  lock,                // waiting for locks, and handing them over
  doorbell,            // CPU: ringing, and waiting for a doorbell register's lock
  run_queue,           // ready to run, while another thread had the CPU
  wake_up,             // from an event to the thread that runs again on an idle CPU
  interrupt,           // from a completion to the end of its interrupt
  nic_queue,           // waiting for the card: its units, its miss slots, PCIe
  nic,                 // the card's own work, and its transfers over PCIe
  context_miss,        // queue-pair contexts that were not in the card's cache
  request_miss,        // work requests that were not in the card's cache any more
  translation_miss,    // memory translations that were not in the card's cache
  wire,                // links and switches, with waits for them
  receiver_not_ready,  // RC: waits for a receive to be posted, and retransmissions
  count_
};

[[nodiscard]] std::string_view name(Spent where);

class SpentTimes {
 public:
  void add(Spent where, Ps time) { total_[static_cast<std::size_t>(where)] += time; }
  [[nodiscard]] Ps of(Spent where) const { return total_[static_cast<std::size_t>(where)]; }

 private:
  std::array<Ps, static_cast<std::size_t>(Spent::count_)> total_{};
};

}  // namespace rkv::sim
