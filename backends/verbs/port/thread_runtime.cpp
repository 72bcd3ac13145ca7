#include "backends/verbs/port/thread_runtime.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>
#include <exception>
#include <future>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "backends/verbs/port/clock.hpp"
#include "backends/verbs/port/cpu_set.hpp"
#include "backends/verbs/port/stop_flag.hpp"
#include "backends/verbs/port/system_error.hpp"

namespace rkv::verbs {
namespace {

Duration to_duration(const timeval& time) {
  return std::chrono::seconds{time.tv_sec} + std::chrono::microseconds{time.tv_usec};
}

// What the calling thread has used since the operating system made it; wall_time is the clock's value.
ThreadUsage usage_reading() {
  rusage used{};
  ::getrusage(RUSAGE_THREAD, &used);
  ThreadUsage reading;
  reading.voluntary_switches = static_cast<std::uint64_t>(used.ru_nvcsw);
  reading.involuntary_switches = static_cast<std::uint64_t>(used.ru_nivcsw);
  reading.cpu_time = to_duration(used.ru_utime) + to_duration(used.ru_stime);
  reading.wall_time = clock_now().time_since_epoch();
  return reading;
}

thread_local std::optional<ThreadUsage> usage_at_start;

void prepare_this_thread(const ThreadSpec& spec) {
  ::prctl(PR_SET_NAME, spec.name.c_str());  // the kernel shortens it to 15 characters
  // By default the kernel may round a sleep up by 50 us, to save energy; arrivals of an open loop would be
  // late.
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  pin_this_thread(spec.name, spec.cores);
}

class StdThread final : public Thread {
 public:
  // Returns once the thread has its name and its cores, so that a refusal is thrown here.
  StdThread(ThreadSpec spec, std::function<void()> body) {
    std::promise<void> started;
    std::future<void> start = started.get_future();
    std::packaged_task<void()> task(std::move(body));
    outcome_ = task.get_future();
    thread_ =
        std::thread([spec = std::move(spec), task = std::move(task), started = std::move(started)]() mutable {
          try {
            prepare_this_thread(spec);
          } catch (...) {
            started.set_exception(std::current_exception());
            return;
          }
          usage_at_start = usage_reading();
          started.set_value();
          task();
        });
    try {
      start.get();
    } catch (...) {
      thread_.join();
      throw;
    }
  }
  ~StdThread() override {
    if (thread_.joinable()) thread_.join();
  }

  void join() override {
    if (thread_.joinable()) thread_.join();
    if (outcome_.valid()) outcome_.get();
  }

 private:
  std::thread thread_;
  std::future<void> outcome_;
};

class StdMutex final : public Mutex {
 public:
  void lock() override { mutex_.lock(); }
  void unlock() override { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

constexpr std::int32_t free_state = 0;
constexpr std::int32_t writer_state = -1;

}  // namespace

std::unique_ptr<Thread> ThreadRuntime::spawn(ThreadSpec spec, std::function<void()> body) {
  require_online(spec.name, spec.cores);
  const std::string name = spec.name;
  try {
    return std::make_unique<StdThread>(std::move(spec), std::move(body));
  } catch (const std::system_error& refusal) {
    throw system_error("thread '" + name + "'", "pthread_create", refusal.code().value());
  }
}

std::unique_ptr<StopFlag> ThreadRuntime::make_stop_flag() {
  return std::make_unique<EventStopFlag>();
}

std::unique_ptr<Mutex> ThreadRuntime::make_mutex() {
  return std::make_unique<StdMutex>();
}

Instant ThreadRuntime::now() {
  return clock_now();
}

void ThreadRuntime::stamp(Instant& slot) {
  slot = clock_now();
}

void ThreadRuntime::sleep_until(Instant deadline, const StopFlag& stop) {
  const EventStopFlag& flag = event_stop_flag(stop);
  while (!flag.requested()) {
    const Instant now = clock_now();
    if (now >= deadline) return;
    pollfd event{flag.fd(), POLLIN, 0};
    if (::ppoll(&event, 1, Timeout(deadline, now).get(), nullptr) < 0 && errno != EINTR) {
      throw system_error("sleep", "ppoll", errno);
    }
  }
}

// The real machine has done the work already.
void ThreadRuntime::charge(const Work&) {}

ThreadUsage ThreadRuntime::usage() {
  const ThreadUsage reading = usage_reading();
  if (!usage_at_start) usage_at_start = reading;
  ThreadUsage used;
  used.voluntary_switches = reading.voluntary_switches - usage_at_start->voluntary_switches;
  used.involuntary_switches = reading.involuntary_switches - usage_at_start->involuntary_switches;
  used.cpu_time = reading.cpu_time - usage_at_start->cpu_time;
  used.wall_time = reading.wall_time - usage_at_start->wall_time;
  return used;
}

bool ThreadRuntime::try_lock(TryLock& lock) {
  std::int32_t expected = free_state;
  return lock.state.compare_exchange_strong(expected, writer_state, std::memory_order_acquire,
                                            std::memory_order_relaxed);
}

bool ThreadRuntime::try_lock_shared(TryLock& lock) {
  std::int32_t readers = lock.state.load(std::memory_order_relaxed);
  while (readers != writer_state) {
    // Tried again only when another reader came or went meanwhile: readers never refuse each other.
    if (lock.state.compare_exchange_weak(readers, readers + 1, std::memory_order_acquire,
                                         std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

void ThreadRuntime::unlock(TryLock& lock) {
  lock.state.store(free_state, std::memory_order_release);
}

void ThreadRuntime::unlock_shared(TryLock& lock) {
  lock.state.fetch_sub(1, std::memory_order_release);
}

}  // namespace rkv::verbs
