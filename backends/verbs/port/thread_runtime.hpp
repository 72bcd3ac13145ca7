// The seam's runtime on the real machine: std::thread, CLOCK_MONOTONIC, getrusage, std::mutex.
#pragma once

#include "core/port/runtime.hpp"

namespace rkv::verbs {

// Stateless and thread-safe. A Thread that is destroyed without join() drops what its body threw.
//
// usage() counts from the start of a thread that spawn() made; on any other thread from its first call.
class ThreadRuntime final : public Runtime {
 public:
  std::unique_ptr<Thread> spawn(ThreadSpec spec, std::function<void()> body) override;
  std::unique_ptr<StopFlag> make_stop_flag() override;
  std::unique_ptr<Mutex> make_mutex() override;

  Instant now() override;
  void stamp(Instant& slot) override;
  void sleep_until(Instant deadline, const StopFlag& stop) override;
  void charge(const Work& work) override;
  ThreadUsage usage() override;

  [[nodiscard]] bool try_lock(TryLock& lock) override;
  [[nodiscard]] bool try_lock_shared(TryLock& lock) override;
  void unlock(TryLock& lock) override;
  void unlock_shared(TryLock& lock) override;
};

}  // namespace rkv::verbs
