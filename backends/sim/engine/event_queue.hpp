// The heart of the simulation: what will happen, in the order of its time, and among equal times in the order
// in which it was planned, so that a run can be repeated exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/sim/engine/time.hpp"

namespace rkv::sim {

// Whoever plans events. `tag` is what it said when it planned this one.
class EventHandler {
 public:
  virtual void on_event(std::uint64_t tag) = 0;

 protected:
  ~EventHandler() = default;
};

// Two 4-ary heaps: most events are of the next microsecond (cards, links, bursts), while a timer or a slice's
// end a thread waits for milliseconds. Apart, those don't make the former's heap deep.
// Events can't be taken back: a handler that changed its mind knows a stale one by its tag.
class EventQueue {
 public:
  struct Event {
    Ps at = 0;
    std::uint64_t order = 0;
    EventHandler* handler = nullptr;
    std::uint64_t tag = 0;
  };

  // `now` tells soon from late; any value gives the same order.
  void push(Ps now, Ps at, EventHandler& handler, std::uint64_t tag);
  // The first; the queue is not empty.
  Event pop();
  [[nodiscard]] bool empty() const { return soon_.empty() && late_.empty(); }
  [[nodiscard]] Ps next_time() const { return first_is_soon() ? soon_.front().at : late_.front().at; }
  [[nodiscard]] std::size_t size() const { return soon_.size() + late_.size(); }

 private:
  using Heap = std::vector<Event>;

  [[nodiscard]] bool first_is_soon() const;

  Heap soon_;
  Heap late_;
  std::uint64_t order_ = 0;
};

}  // namespace rkv::sim
