// A stop flag that both spinning and sleeping threads see: an atomic for the first, an eventfd for the
// second.
#pragma once

#include <atomic>

#include "backends/verbs/port/file_descriptor.hpp"
#include "core/port/runtime.hpp"

namespace rkv::verbs {

// Thread-safe; request() may also be called from a signal handler.
class EventStopFlag final : public StopFlag {
 public:
  EventStopFlag();  // throws rkv::Error when there is no file descriptor left

  void request() override;
  [[nodiscard]] bool requested() const override { return requested_.load(std::memory_order_acquire); }

  // Readable once stop was requested, for ever: nobody reads it, so it wakes every sleeper.
  [[nodiscard]] int fd() const { return event_.get(); }

 private:
  std::atomic<bool> requested_{false};
  FileDescriptor event_;
};

static_assert(std::atomic<bool>::is_always_lock_free, "request() must be async-signal-safe");

// The flag as this backend made it. Throws rkv::Error for one of another backend.
[[nodiscard]] const EventStopFlag& event_stop_flag(const StopFlag& flag);

}  // namespace rkv::verbs
