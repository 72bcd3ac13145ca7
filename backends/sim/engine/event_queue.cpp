#include "backends/sim/engine/event_queue.hpp"

#include <algorithm>

namespace rkv::sim {
namespace {

constexpr std::size_t children = 4;

bool earlier(const EventQueue::Event& a, const EventQueue::Event& b) {
  return a.at != b.at ? a.at < b.at : a.order < b.order;
}

}  // namespace

void EventQueue::push(Ps at, EventHandler& handler, std::uint64_t tag) {
  const Event event{.at = at, .order = order_++, .handler = &handler, .tag = tag};
  std::size_t hole = heap_.size();
  heap_.push_back(event);
  while (hole > 0) {
    const std::size_t parent = (hole - 1) / children;
    if (!earlier(event, heap_[parent])) break;
    heap_[hole] = heap_[parent];
    hole = parent;
  }
  heap_[hole] = event;
}

EventQueue::Event EventQueue::pop() {
  const Event first = heap_.front();
  const Event last = heap_.back();
  heap_.pop_back();
  if (heap_.empty()) return first;
  std::size_t hole = 0;
  for (;;) {
    const std::size_t begin = children * hole + 1;
    if (begin >= heap_.size()) break;
    const std::size_t end = std::min(begin + children, heap_.size());
    std::size_t best = begin;
    for (std::size_t child = begin + 1; child < end; ++child) {
      if (earlier(heap_[child], heap_[best])) best = child;
    }
    if (!earlier(heap_[best], last)) break;
    heap_[hole] = heap_[best];
    hole = best;
  }
  heap_[hole] = last;
  return first;
}

}  // namespace rkv::sim
