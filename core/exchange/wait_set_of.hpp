// Wait sets of one source or two.
#pragma once

#include <memory>

#include "core/port/wait.hpp"

namespace rkv {

inline std::unique_ptr<WaitSet> wait_set_of(const Port& port, CompletionQueue& queue, const StopFlag& stop) {
  CompletionQueue* const queues[] = {&queue};
  return port.wait_sets->make_wait_set({.completion_queues = queues}, stop);
}

inline std::unique_ptr<WaitSet> wait_set_of(const Port& port, Stream& stream, const StopFlag& stop) {
  Stream* const streams[] = {&stream};
  return port.wait_sets->make_wait_set({.completion_queues = {}, .streams = streams}, stop);
}

// Of slots and of the queue that tells of failed requests: slots are source slots_source.
inline constexpr std::uint32_t slots_source = 1;
inline std::unique_ptr<WaitSet> wait_set_of(const Port& port, CompletionQueue& queue, SlotWatch& watch,
                                            const StopFlag& stop) {
  CompletionQueue* const queues[] = {&queue};
  SlotWatch* const watches[] = {&watch};
  return port.wait_sets->make_wait_set({.completion_queues = queues, .slots = watches}, stop);
}

}  // namespace rkv
