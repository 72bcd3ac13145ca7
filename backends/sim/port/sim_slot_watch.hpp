// Slots of simulated memory that peers WRITE into: a source that wait sets wait for. A look costs `slot_look`
// for each slot from behind the one that was last given to the last that is given now, or for all where none
// is, and what is found `slot_hit` besides: its lines were the card's last. A frame that comes while a look
// passes over the slots is found by the next one.
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
  std::uint32_t take(Thread& taker, std::span<Completion> out) override;

  // --- WriteObserver
  void written(std::uint64_t address, std::uint64_t bytes) override;

 private:
  Card& card_;
  const SlotRange range_;
  const RemoteMemory memory_;
  const Ps slot_look_;
  const Ps slot_hit_;
  // Calls visit(slot) for those that were written, as the next look comes to them, until it returns false.
  template <typename Visit>
  void pass_over_written(Visit visit) const;
  void forget(std::uint32_t slot) { written_[slot / word_bits] &= ~(std::uint64_t{1} << slot % word_bits); }
  [[nodiscard]] std::uint32_t distance(std::uint32_t slot) const {
    return (slot + count() - next_) % count();
  }

  static constexpr std::uint32_t word_bits = 64;
  // A bit a slot: written since a look last found nothing new there.
  std::vector<std::uint64_t> written_;
  std::uint32_t next_ = 0;  // where the next look begins
};

}  // namespace rkv::sim
