#include "backends/sim/port/sim_slot_watch.hpp"

#include <algorithm>
#include <bit>

namespace rkv::sim {
namespace {

Source::Costs costs_of(const MemoryProfile& memory, std::uint32_t slots) {
  const Ps look = std::max<Ps>(slots * memory.slot_look, 1);
  return {.empty_look = look, .blocking_look = look, .spent = Spent::poll};
}

}  // namespace

SimSlotWatch::SimSlotWatch(Card& card, const MemoryProfile& costs, const SlotRange& range)
    : SlotWatch(range),
      Source(costs_of(costs, range.count), false),
      card_(card),
      range_(range),
      memory_(range.region->remote().behind(range.offset)),
      slot_look_(costs.slot_look),
      slot_hit_(costs.slot_hit),
      written_((range.count + word_bits - 1) / word_bits) {
  card_.observe(memory_, *this);
}

SimSlotWatch::~SimSlotWatch() {
  card_.stop_observing(memory_, *this);
}

template <typename Visit>
void SimSlotWatch::pass_over_written(Visit visit) const {
  const std::size_t words = written_.size();
  const std::size_t first = next_ / word_bits;
  const std::uint64_t from_next = ~std::uint64_t{0} << next_ % word_bits;
  for (std::size_t i = 0; i <= words; ++i) {  // the first word twice: from the next slot on, and up to it
    const std::size_t word = (first + i) % words;
    std::uint64_t bits = written_[word];
    if (i == 0) bits &= from_next;
    if (i == words) bits &= ~from_next;
    for (; bits != 0; bits &= bits - 1) {
      const auto bit = static_cast<std::uint32_t>(std::countr_zero(bits));
      if (!visit(static_cast<std::uint32_t>(word) * word_bits + bit)) return;
    }
  }
}

bool SimSlotWatch::ready() const {
  bool any = false;
  pass_over_written([&](std::uint32_t slot) {
    any = news(slot) != 0;
    return !any;
  });
  return any;
}

Ps SimSlotWatch::take_cost(std::size_t room) const {
  std::size_t given = 0;
  std::uint32_t last = 0;
  pass_over_written([&](std::uint32_t slot) {
    if (given == room) return false;
    if (news(slot) != 0) {
      ++given;
      last = slot;
    }
    return true;
  });
  if (given == 0) return costs().empty_look;
  const Ps passed = given < room ? count() : distance(last) + 1;
  return passed * slot_look_ + static_cast<Ps>(given) * slot_hit_;
}

std::uint32_t SimSlotWatch::take(Thread&, std::span<Completion> out) {
  std::uint32_t given = 0;
  pass_over_written([&](std::uint32_t slot) {
    if (given == out.size()) return false;
    const FrameWord word = news(slot);
    if (word == 0) {
      forget(slot);
    } else {
      out[given++] = {.id = slot, .bytes = message_bytes_of(word)};
    }
    return true;
  });
  if (given != 0) next_ = (static_cast<std::uint32_t>(out[given - 1].id) + 1) % count();
  return given;
}

void SimSlotWatch::written(std::uint64_t address, std::uint64_t) {
  if (address < memory_.address) return;
  const std::uint64_t slot = (address - memory_.address) / range_.slot_bytes;
  if (slot >= count()) return;
  written_[slot / word_bits] |= std::uint64_t{1} << slot % word_bits;
  (void)Source::arrived();  // it is never armed: a WRITE makes no event
}

}  // namespace rkv::sim
