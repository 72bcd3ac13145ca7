// What a simulated thread does where its code calls a port function that takes time or waits: a small state
// machine, driven by the CPU that the thread runs on.
#pragma once

#include <cstdint>

#include "backends/sim/engine/time.hpp"

namespace rkv::sim {

class Thread;

struct Next {
  enum class Kind : std::uint8_t {
    work,   // go on working; step() is called when the progress reaches `until`
    sleep,  // leave the CPU; step() is called when the thread was woken and has a CPU again
    done,
    end,  // of the thread: it leaves the CPU for good
  };
  Kind kind = Kind::done;
  Ps until = 0;

  // CPU time since the operation began; `forever`: until Thread::retarget().
  [[nodiscard]] static Next work_until(Ps progress) { return {.kind = Kind::work, .until = progress}; }
  [[nodiscard]] static Next sleep() { return {.kind = Kind::sleep}; }
  [[nodiscard]] static Next done() { return {}; }
  [[nodiscard]] static Next end() { return {.kind = Kind::end}; }
};

class Operation {
 public:
  // The work that was asked for is done, or the operation begins. Thread::progress() is the CPU time that it
  // has had so far.
  virtual Next step(Thread& thread) = 0;
  // What it waits for may have come: a timer, a stop flag, a source. Called at any time while it lasts.
  virtual void on_signal(Thread& thread) = 0;
  // The thread has lost its CPU in the middle of this, without sleeping; it has one again.
  virtual void on_preempted(Thread&) {}
  virtual void on_resumed(Thread&) {}

 protected:
  ~Operation() = default;
};

}  // namespace rkv::sim
