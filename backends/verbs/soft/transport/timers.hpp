// The deadlines of queue pairs whose oldest send waits (RNR timer, retransmission, injected delay).
//
// One thread serves all of them; it is started by the first deadline of the process and sleeps until the next
// one. It calls on_deadline() with the queue pair pinned and no lock held. All functions are thread-safe and
// may be called with a send lock held.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "backends/verbs/soft/verbs/queue_pair.hpp"

namespace rkv::soft {

class Timers {
 public:
  static Timers& instance();

  // Sets or brings forward the queue pair's deadline, of the monotonic clock.
  void arm(QueuePair& qp, std::uint64_t deadline_ns);
  // The thread doesn't touch the queue pair any more once its pins are gone, too.
  void cancel(QueuePair& qp);

 private:
  void run();
  void unlink(QueuePair& qp);
  bool linked(const QueuePair& qp) const { return qp.timer_deadline_ns != 0; }

  std::mutex mutex_;
  std::condition_variable changed_;
  QueuePair* first_ = nullptr;  // unordered: few queue pairs ever wait at once
  bool started_ = false;
};

}  // namespace rkv::soft
