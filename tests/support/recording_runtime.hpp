// A TestRuntime that writes down what was locked and charged, in order. For one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/test_runtime.hpp"

namespace rkv::test {

class RecordingRuntime final : public TestRuntime {
 public:
  // "lock 0" and "unlock 0" (of the first mutex made), "walk 3" and "copy 8" (charges by entries and bytes),
  // "try_lock", "try_lock_shared", "unlock", "unlock_shared" (of any TryLock, obtained or not).
  std::vector<std::string> events;
  std::vector<std::uint64_t> working_sets_bytes;  // one a walk charged

  // Unlocks of TryLocks take effect when play_unlocks() is called, as in simulation.
  bool unlocks_late = false;
  // Called at the start of each try_lock: what another thread does in that moment.
  std::function<void()> before_try_lock;

  void play_unlocks() {
    for (TryLock* lock : std::exchange(late_unlocks_, {})) TestRuntime::unlock(*lock);
    for (TryLock* lock : std::exchange(late_shared_unlocks_, {})) TestRuntime::unlock_shared(*lock);
  }

  // The events since the last call.
  std::vector<std::string> take() { return std::exchange(events, {}); }

  std::unique_ptr<Mutex> make_mutex() override { return std::make_unique<RecordedMutex>(*this, mutexes_++); }

  void charge(const Work& work) override {
    if (work.working_set_bytes != 0) {
      events.push_back("walk " + std::to_string(work.entries_walked));
      working_sets_bytes.push_back(work.working_set_bytes);
    } else {
      events.push_back("copy " + std::to_string(work.bytes_copied));
    }
  }
  [[nodiscard]] bool try_lock(TryLock& lock) override {
    events.emplace_back("try_lock");
    if (before_try_lock) before_try_lock();
    return TestRuntime::try_lock(lock);
  }
  [[nodiscard]] bool try_lock_shared(TryLock& lock) override {
    events.emplace_back("try_lock_shared");
    return TestRuntime::try_lock_shared(lock);
  }
  void unlock(TryLock& lock) override {
    events.emplace_back("unlock");
    if (unlocks_late) {
      late_unlocks_.push_back(&lock);
    } else {
      TestRuntime::unlock(lock);
    }
  }
  void unlock_shared(TryLock& lock) override {
    events.emplace_back("unlock_shared");
    if (unlocks_late) {
      late_shared_unlocks_.push_back(&lock);
    } else {
      TestRuntime::unlock_shared(lock);
    }
  }

 private:
  class RecordedMutex final : public Mutex {
   public:
    RecordedMutex(RecordingRuntime& runtime, int number)
        : runtime_(runtime), number_(std::to_string(number)) {}
    void lock() override { runtime_.events.push_back("lock " + number_); }
    void unlock() override { runtime_.events.push_back("unlock " + number_); }

   private:
    RecordingRuntime& runtime_;
    std::string number_;
  };

  int mutexes_ = 0;
  std::vector<TryLock*> late_unlocks_;
  std::vector<TryLock*> late_shared_unlocks_;
};

}  // namespace rkv::test
