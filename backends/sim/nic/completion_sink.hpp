// Where a card puts completions: a completion queue, seen from the card.
#pragma once

#include <cstdint>

#include "core/port/device.hpp"

namespace rkv::sim {

class Core;

struct Finished {
  Completion completion;
  bool of_send = false;
  // Of a send: how many sends of its queue pair, from the first on, are done with it.
  std::uint64_t sends_done = 0;
  const Core* written_on = nullptr;  // by a thread of this CPU; null: by a card
};

class CompletionSink {
 public:
  // Visible to those who wait from now on.
  virtual void push(const Finished& finished) = 0;
  // Whether the next push makes an event.
  [[nodiscard]] virtual bool wants_event() const = 0;
  // Whether a thread sleeps until there is such an event.
  [[nodiscard]] virtual bool sleeps() const = 0;
  // Where the thread runs, or ran last, that takes from here. Null before one has.
  [[nodiscard]] virtual const Core* reader() const = 0;
  // Takes out what a queue pair that ceases to exist has left.
  virtual void forget(std::uint32_t queue_pair) = 0;

 protected:
  ~CompletionSink() = default;
};

}  // namespace rkv::sim
