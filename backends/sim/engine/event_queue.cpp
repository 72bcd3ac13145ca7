#include "backends/sim/engine/event_queue.hpp"

#include <algorithm>

namespace rkv::sim {
namespace {

constexpr std::size_t children = 4;
constexpr Ps soon = 20'000'000;  // 20 us

bool earlier(const EventQueue::Event& a, const EventQueue::Event& b) {
  return a.at != b.at ? a.at < b.at : a.order < b.order;
}

void insert(std::vector<EventQueue::Event>& heap, const EventQueue::Event& event) {
  std::size_t hole = heap.size();
  heap.push_back(event);
  while (hole > 0) {
    const std::size_t parent = (hole - 1) / children;
    if (!earlier(event, heap[parent])) break;
    heap[hole] = heap[parent];
    hole = parent;
  }
  heap[hole] = event;
}

EventQueue::Event take_first(std::vector<EventQueue::Event>& heap) {
  const EventQueue::Event first = heap.front();
  const EventQueue::Event last = heap.back();
  heap.pop_back();
  if (heap.empty()) return first;
  std::size_t hole = 0;
  for (;;) {
    const std::size_t begin = children * hole + 1;
    if (begin >= heap.size()) break;
    const std::size_t end = std::min(begin + children, heap.size());
    std::size_t best = begin;
    for (std::size_t child = begin + 1; child < end; ++child) {
      if (earlier(heap[child], heap[best])) best = child;
    }
    if (!earlier(heap[best], last)) break;
    heap[hole] = heap[best];
    hole = best;
  }
  heap[hole] = last;
  return first;
}

}  // namespace

bool EventQueue::first_is_soon() const {
  if (late_.empty()) return true;
  return !soon_.empty() && earlier(soon_.front(), late_.front());
}

void EventQueue::push(Ps now, Ps at, EventHandler& handler, std::uint64_t tag) {
  insert(at - now < soon ? soon_ : late_, {.at = at, .order = order_++, .handler = &handler, .tag = tag});
}

EventQueue::Event EventQueue::pop() {
  return take_first(first_is_soon() ? soon_ : late_);
}

}  // namespace rkv::sim
