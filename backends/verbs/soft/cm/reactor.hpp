// One thread that waits for all sockets of the connection manager and for their deadlines, and the mutex that
// guards everything in cm/.
//
// The thread is started with the first source and sleeps while nothing happens. It calls sources with the
// mutex held; they must not block. Functions of the class want the mutex held, too, by the caller.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "backends/verbs/port/file_descriptor.hpp"

namespace rkv::soft::cm {

// A descriptor that the reactor watches, or only a deadline. Its last call may destroy it.
class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;
  // What epoll says of the descriptor.
  virtual void on_ready(std::uint32_t events) = 0;
  virtual void on_deadline() = 0;

 private:
  friend class Reactor;
  std::uint64_t key_ = 0;
  std::uint64_t deadline_ns_ = 0;  // 0: none
};

class Reactor {
 public:
  static Reactor& instance();

  std::mutex& mutex() { return mutex_; }
  // Waits until somebody acknowledges an event; gives the mutex up meanwhile.
  void wait_for_acknowledgement(std::unique_lock<std::mutex>& lock) { acknowledged_.wait(lock); }
  void acknowledged() { acknowledged_.notify_all(); }

  // Calls on_ready() whenever epoll has one of `events`. 0, or errno: then the source isn't watched.
  int watch(Source& source, int fd, std::uint32_t events);
  // Between them only the deadline is watched.
  void pause(int fd);
  void resume(const Source& source, int fd, std::uint32_t events);
  // Forgets the descriptor, which must still be open, and the deadline.
  void unwatch(Source& source, int fd);
  // Calls on_deadline() once, in that time. Only for watched sources.
  void set_deadline(Source& source, std::uint64_t in_ns);
  void clear_deadline(Source& source) { source.deadline_ns_ = 0; }

 private:
  Reactor();
  int start();
  void run();
  int timeout_ms() const;
  void call_those_due();

  std::mutex mutex_;
  std::condition_variable acknowledged_;
  verbs::FileDescriptor epoll_;
  verbs::FileDescriptor wake_;  // an eventfd: a deadline has come closer
  // epoll hands out keys, not pointers: a source may be gone when the thread gets the mutex.
  std::unordered_map<std::uint64_t, Source*> sources_;
  std::uint64_t last_key_ = 0;
  bool started_ = false;
};

}  // namespace rkv::soft::cm
