#include "backends/sim/cpu/address_space.hpp"

namespace rkv::sim {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr int mappings_a_page = 2;  // the heap made longer, and the fault

}  // namespace

void AddressSpace::allocate(Thread& thread, std::uint64_t bytes) {
  thread.unmapped_bytes += bytes;
  for (; thread.unmapped_bytes >= page_bytes; thread.unmapped_bytes -= page_bytes) {
    for (int i = 0; i < mappings_a_page; ++i) thread.record(mappings_.take());
  }
}

Next AddressSpace::Mapping::step(Thread& thread) {
  World& world = thread.world();
  const MemoryProfile& costs = space_.costs_.memory;
  switch (stage_) {
    case Stage::begin:
      since_ = world.now();
      if (space_.held_) {
        stage_ = Stage::asleep;
        space_.waiting_.push_back(&thread);
        return Next::sleep();
      }
      space_.held_ = true;
      stage_ = Stage::mapping;
      return Next::work_until(thread.progress() + costs.map_page);
    case Stage::asleep:  // woken as its holder
      stage_ = Stage::mapping;
      return Next::work_until(thread.progress() + costs.map_hand_over + costs.map_page);
    case Stage::mapping: {
      Ps waking = 0;
      if (space_.waiting_.empty()) {
        space_.held_ = false;
      } else {
        Thread& next = *space_.waiting_.front();
        space_.waiting_.pop_front();
        next.wake_up();
        waking = space_.costs_.scheduler.wake_cost;
      }
      stage_ = Stage::releasing;
      return Next::work_until(thread.progress() + waking);
    }
    case Stage::releasing:
      break;
  }
  world.spent().add(Spent::lock, world.now() - since_);
  stage_ = Stage::begin;
  space_.mappings_.give_back(*this);
  return Next::done();
}

}  // namespace rkv::sim
