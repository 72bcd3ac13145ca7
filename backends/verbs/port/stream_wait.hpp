// Blocking on one stream alone, as a thread a connection does: in recv(2), or in select(2) and then recv(2).
#pragma once

#include "backends/verbs/port/stop_flag.hpp"
#include "backends/verbs/port/tcp_stream.hpp"
#include "core/port/time.hpp"
#include "core/port/wait.hpp"

namespace rkv::verbs {

// Wait::read costs one system call: a recv(2) that sleeps. The stop flag cannot end that sleep, so the
// socket's receive timeout does, every receive_slice; an idle thread looks at the flag that often. When the
// deadline is nearer than a slice, or bytes wait to be sent, it is ppoll(2) and recv(2) instead, which the
// flag ends at once. Wait::select costs two system calls always.
//
// One thread at a time.
class StreamWait {
 public:
  // Throws rkv::Error when select(2) is wanted and a file descriptor is beyond what it can take.
  StreamWait(TcpStream& stream, const EventStopFlag& stop);

  WaitResult block(Completion& arrival, Instant deadline);

 private:
  [[nodiscard]] bool may_sleep_in_receive(Duration left) const;
  // Sleeps until something can be read or written, stop is requested or the deadline passes.
  void await(Instant deadline) const;
  void await_by_poll(const timespec* timeout) const;
  void await_by_select(const timespec* timeout) const;

  TcpStream& stream_;
  const EventStopFlag& stop_;
};

}  // namespace rkv::verbs
