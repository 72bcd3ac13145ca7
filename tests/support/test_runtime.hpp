// A Runtime on std::thread for tests of core: real locks and time, nothing charged. Failures of try-locks
// and interruptions at them are injected by the test. Thread-safe once configured.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "core/port/runtime.hpp"

namespace rkv::test {

class TestStopFlag final : public StopFlag {
 public:
  void request() override {
    const std::lock_guard guard(mutex_);
    requested_ = true;
    changed_.notify_all();
  }
  [[nodiscard]] bool requested() const override {
    const std::lock_guard guard(mutex_);
    return requested_;
  }
  void wait_until(std::chrono::steady_clock::time_point deadline) const {
    std::unique_lock guard(mutex_);
    changed_.wait_until(guard, deadline, [this] { return requested_; });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool requested_ = false;
};

class TestMutex final : public Mutex {
 public:
  void lock() override { mutex_.lock(); }
  void unlock() override { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class TestThread final : public Thread {
 public:
  explicit TestThread(std::function<void()> body)
      : thread_([this, body = std::move(body)] {
          try {
            body();
          } catch (...) {
            error_ = std::current_exception();
          }
        }) {}
  ~TestThread() override {
    if (thread_.joinable()) {
      thread_.join();
    }
  }
  void join() override {
    thread_.join();
    if (error_) {
      std::rethrow_exception(std::exchange(error_, nullptr));
    }
  }

 private:
  std::exception_ptr error_;
  std::thread thread_;  // last: it uses error_
};

class TestRuntime : public Runtime {
 public:
  // What the next try-locks answer; set before threads start.
  std::atomic<bool> refuse_try_lock{false};
  // Called at the start of each try_lock_shared: what another thread does in that moment.
  std::function<void()> before_try_lock_shared;

  std::unique_ptr<Thread> spawn(ThreadSpec, std::function<void()> body) override {
    return std::make_unique<TestThread>(std::move(body));
  }
  std::unique_ptr<StopFlag> make_stop_flag() override { return std::make_unique<TestStopFlag>(); }
  std::unique_ptr<Mutex> make_mutex() override { return std::make_unique<TestMutex>(); }

  Instant now() override {
    return Instant(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
  }
  void stamp(Instant& slot) override { slot = now(); }
  void sleep_until(Instant deadline, const StopFlag& stop) override {
    static_cast<const TestStopFlag&>(stop).wait_until(
        std::chrono::steady_clock::time_point(deadline.time_since_epoch()));
  }
  void charge(const Work&) override {}
  ThreadUsage usage() override { return {}; }

  [[nodiscard]] bool try_lock(TryLock& lock) override {
    std::int32_t free = 0;
    return !refuse_try_lock && lock.state.compare_exchange_strong(free, -1, std::memory_order_acquire);
  }
  [[nodiscard]] bool try_lock_shared(TryLock& lock) override {
    if (before_try_lock_shared) {
      before_try_lock_shared();
    }
    std::int32_t readers = lock.state.load(std::memory_order_relaxed);
    while (!refuse_try_lock && readers >= 0) {
      if (lock.state.compare_exchange_weak(readers, readers + 1, std::memory_order_acquire)) {
        return true;
      }
    }
    return false;
  }
  void unlock(TryLock& lock) override { lock.state.store(0, std::memory_order_release); }
  void unlock_shared(TryLock& lock) override { lock.state.fetch_sub(1, std::memory_order_release); }
};

}  // namespace rkv::test
