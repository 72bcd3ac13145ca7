// Wait sets of one source.
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

inline std::unique_ptr<WaitSet> wait_set_of(const Port& port, SlotWatch& watch, const StopFlag& stop) {
  SlotWatch* const watches[] = {&watch};
  return port.wait_sets->make_wait_set({.completion_queues = {}, .slots = watches}, stop);
}

}  // namespace rkv
