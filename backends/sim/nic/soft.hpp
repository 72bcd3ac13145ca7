// The model of the soft RNIC (backends/verbs/soft): no card at all. The thread that posts a send moves the
// data itself, adds both completions, and wakes the receiver if its queue is armed:
//
//   held = [until the queue pair's lock is free] + soft_transfer + bytes x soft_copy_ns_per_byte [+
//   soft_wake]
//
// of its CPU time; the completions are visible before the waking. Formula and constants: measured on soft0,
// whose posting path this is. On one host, or with hosts at no distance from each other: there is no link.
// RC loses nothing. A receive that is posted lets a waiting sender's message in at once, at no cost of CPU
// time.
#pragma once

#include "backends/sim/nic/card.hpp"

namespace rkv::sim {

class SoftNic final : public Card {
 public:
  SoftNic(Fabric& fabric, const NicProfile& profile, std::uint32_t host) : Card(fabric, profile, host) {}

 private:
  void send(QueuePairState& pair, Message& message) override;
  void send_again(QueuePairState& pair, Message& message) override;
  void on_stage(Stage stage, Message& message) override;
  [[nodiscard]] Ps completion_latency() const override { return 0; }
  void receive_posted(QueuePairState& pair, Ps visible_from) override;
};

}  // namespace rkv::sim
