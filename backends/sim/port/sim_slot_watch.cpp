#include "backends/sim/port/sim_slot_watch.hpp"

#include <algorithm>
#include <iterator>

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
      slot_hit_(costs.slot_hit) {
  written_.reserve(range.count);
  card_.observe(memory_, *this);
}

SimSlotWatch::~SimSlotWatch() {
  card_.stop_observing(memory_, *this);
}

bool SimSlotWatch::ready() const {
  return std::any_of(written_.begin(), written_.end(),
                     [this](std::uint32_t slot) { return news(slot) != 0; });
}

std::vector<std::uint32_t> SimSlotWatch::nearest(std::size_t room) const {
  std::vector<std::uint32_t> slots;
  std::copy_if(written_.begin(), written_.end(), std::back_inserter(slots),
               [this](std::uint32_t slot) { return news(slot) != 0; });
  std::sort(slots.begin(), slots.end(),
            [this](std::uint32_t a, std::uint32_t b) { return distance(a) < distance(b); });
  slots.resize(std::min(room, slots.size()));
  return slots;
}

Ps SimSlotWatch::take_cost(std::size_t room) const {
  const std::vector<std::uint32_t> given = nearest(room);
  if (given.empty()) return costs().empty_look;
  const Ps passed = given.size() < room ? count() : distance(given.back()) + 1;
  return passed * slot_look_ + static_cast<Ps>(given.size()) * slot_hit_;
}

std::uint32_t SimSlotWatch::take(std::span<Completion> out) {
  const std::vector<std::uint32_t> given = nearest(out.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    out[i] = {.id = given[i], .bytes = message_bytes_of(news(given[i]))};
  }
  if (!given.empty()) next_ = (given.back() + 1) % count();
  std::erase_if(written_, [this](std::uint32_t slot) { return news(slot) == 0; });
  return static_cast<std::uint32_t>(given.size());
}

void SimSlotWatch::written(std::uint64_t address, std::uint64_t) {
  if (address < memory_.address) return;
  const std::uint64_t slot = (address - memory_.address) / range_.slot_bytes;
  if (slot >= count()) return;
  const auto number = static_cast<std::uint32_t>(slot);
  if (std::find(written_.begin(), written_.end(), number) == written_.end()) written_.push_back(number);
  (void)Source::arrived();  // it is never armed: a WRITE makes no event
}

}  // namespace rkv::sim
