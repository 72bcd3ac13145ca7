// Slots of simulated memory that peers WRITE into: a source that wait sets wait for. A look at all slots
// costs `slot_look` each, found or not, and what is found `slot_hit` besides: its lines were the card's last.
// Where in a pass over the slots a frame comes is not followed: it is found by the first pass that begins
// after it.
#pragma once

#include "backends/sim/nic/card.hpp"
#include "backends/sim/port/source.hpp"
#include "core/port/slot_watch.hpp"

namespace rkv::sim {

class SimSlotWatch final : public SlotWatch, public Source, public WriteObserver {
 public:
  // Throws rkv::Error for slots that do not lie in exposed memory.
  SimSlotWatch(Card& card, const MemoryProfile& costs, const SlotRange& range);
  ~SimSlotWatch() override;

  // --- Source
  [[nodiscard]] bool ready() const override;
  [[nodiscard]] Ps take_cost(std::size_t room) const override;
  std::uint32_t take(std::span<Completion> out) override;

  // --- WriteObserver
  void written(std::uint64_t address, std::uint64_t bytes) override;

 private:
  Card& card_;
  const SlotRange range_;
  const RemoteMemory memory_;
  const Ps slot_hit_;
  std::vector<std::uint32_t> written_;  // since they last had no news, in the order in which they were
};

}  // namespace rkv::sim
