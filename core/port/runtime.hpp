// The seam's first half: threads, time, accounted work and locks. backends/verbs implements it on
// std::thread, backends/sim on SimGrid actors.
//
// Rules that keep one source truthful on both (docs/architecture.md):
// - core never loops on a try-operation: it waits through WaitSet (port/wait.hpp) or sleeps here;
// - a stamp's value may be read only after the next wait, lock(), now() or sleep of the same thread;
// - locks that are part of a study are taken through the port, and no std::mutex is held across a port call.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/port/time.hpp"

namespace rkv {

// Work that the CPU did, in counts, so that the simulator can charge what the real machine just does.
struct Work {
  std::uint64_t entries_walked = 0;      // store entries whose key was compared or passed over
  std::uint64_t bytes_copied = 0;        // keys and values in and out of messages, and zeroed responses
  std::uint64_t message_bytes_read = 0;  // of the message taken last, all of which is read
  std::uint64_t working_set_bytes = 0;   // of the structure that was walked
  std::uint32_t keys_formatted = 0;      // printf of a key
  std::uint32_t requests_made = 0;       // client: drawn and written
  std::uint32_t responses_read = 0;      // client
  std::uint32_t requests_served = 0;     // worker: read and answered, beside the store's work
};

// What a thread has used since it started, as the operating system counts it.
struct ThreadUsage {
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;
  Duration cpu_time{0};
  Duration wall_time{0};
};

// Asks a group of threads to end. Any thread may request; waits and sleeps given this flag then return.
// Must outlive every WaitSet and sleep that uses it.
class StopFlag {
 public:
  virtual ~StopFlag() = default;
  virtual void request() = 0;
  [[nodiscard]] virtual bool requested() const = 0;
};

// A mutual-exclusion lock that is part of a study: acquiring it blocks, and a preempted holder keeps it.
class Mutex {
 public:
  virtual ~Mutex() = default;
  virtual void lock() = 0;
  virtual void unlock() = 0;
  // Takes the lock and releases it at once, where only the passing costs (the thesis's rand()). A simulation
  // records it like work: it is done when the thread next waits or asks for the time.
  virtual void pass() {
    lock();
    unlock();
  }
};

// A read-write lock that is only ever tried, four bytes an entry. Pass it to Runtime's try_ functions;
// `state` is theirs: 0 free, n > 0 readers, -1 a writer.
struct TryLock {
  std::atomic<std::int32_t> state{0};
};

class Thread {
 public:
  virtual ~Thread() = default;  // joins
  // Waits for the body's end. Rethrows what it threw.
  virtual void join() = 0;
};

struct ThreadSpec {
  std::string name;        // at most 15 characters are shown by the operating system
  std::vector<int> cores;  // CPUs it may run on; empty: any
};

// Thread-safe. Obtained from a backend; lives as long as all that was made by it.
class Runtime {
 public:
  virtual ~Runtime() = default;

  // Throws rkv::Error when the operating system refuses the thread or its cores.
  virtual std::unique_ptr<Thread> spawn(ThreadSpec spec, std::function<void()> body) = 0;
  virtual std::unique_ptr<StopFlag> make_stop_flag() = 0;
  virtual std::unique_ptr<Mutex> make_mutex() = 0;

  // Of the calling thread.
  virtual Instant now() = 0;
  virtual void stamp(Instant& slot) = 0;
  virtual void sleep_until(Instant deadline, const StopFlag& stop) = 0;
  // Whoever did the work charges it, at once: in simulation its time then passes where it was done, under the
  // locks that are held there. No other simulated thread runs in between.
  virtual void charge(const Work& work) = 0;
  virtual ThreadUsage usage() = 0;

  [[nodiscard]] virtual bool try_lock(TryLock& lock) = 0;
  [[nodiscard]] virtual bool try_lock_shared(TryLock& lock) = 0;
  virtual void unlock(TryLock& lock) = 0;
  virtual void unlock_shared(TryLock& lock) = 0;
};

}  // namespace rkv
