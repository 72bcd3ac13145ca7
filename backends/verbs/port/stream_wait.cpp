#include "backends/verbs/port/stream_wait.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "backends/verbs/port/clock.hpp"
#include "backends/verbs/port/system_error.hpp"

namespace rkv::verbs {

StreamWait::StreamWait(TcpStream& stream, const EventStopFlag& stop) : stream_(stream), stop_(stop) {
  const int largest = std::max(stream.fd(), stop.fd());
  if (stream.wait() == SocketOptions::Wait::select && largest >= FD_SETSIZE) {
    throw Error(
        fmt::format("stream: select(2) takes file descriptors below {} only and this one is {}; use fewer "
                    "clients, or let the server wait by `read`",
                    FD_SETSIZE, largest));
  }
}

WaitResult StreamWait::block(Completion& arrival, Instant deadline) {
  for (;;) {
    const Duration left = deadline == never ? Duration::max() : deadline - clock_now();
    const bool stopped = stop_.requested();
    const bool last_look = stopped || left <= Duration::zero();
    if (stream_.wants_write()) stream_.flush();
    const bool sleep_in_receive = !last_look && may_sleep_in_receive(left);
    if (!last_look && !sleep_in_receive) await(deadline);
    if (stream_.wants_read() && stream_.receive(sleep_in_receive ? 0 : MSG_DONTWAIT, arrival)) {
      return {Wake::completions, 0, 1};
    }
    if (last_look) return {stopped ? Wake::stopped : Wake::deadline, 0, 0};
  }
}

bool StreamWait::may_sleep_in_receive(Duration left) const {
  return stream_.wait() == SocketOptions::Wait::read && stream_.wants_read() && !stream_.wants_write() &&
         left >= receive_slice;
}

void StreamWait::await(Instant deadline) const {
  const Timeout timeout(deadline, deadline == never ? Instant{} : clock_now());
  if (stream_.wait() == SocketOptions::Wait::select) {
    await_by_select(timeout.get());
  } else {
    await_by_poll(timeout.get());
  }
}

void StreamWait::await_by_poll(const timespec* timeout) const {
  const int wanted = (stream_.wants_read() ? POLLIN : 0) | (stream_.wants_write() ? POLLOUT : 0);
  // A negative descriptor is passed over: hang-ups of a stream that ended would end every sleep.
  std::array<pollfd, 2> events{pollfd{wanted == 0 ? -1 : stream_.fd(), static_cast<short>(wanted), 0},
                               pollfd{stop_.fd(), POLLIN, 0}};
  if (::ppoll(events.data(), events.size(), timeout, nullptr) < 0 && errno != EINTR) {
    throw system_error("stream", "ppoll", errno);
  }
}

void StreamWait::await_by_select(const timespec* timeout) const {
  fd_set readable;
  fd_set writable;
  FD_ZERO(&readable);
  FD_ZERO(&writable);
  FD_SET(stop_.fd(), &readable);
  if (stream_.wants_read()) FD_SET(stream_.fd(), &readable);
  if (stream_.wants_write()) FD_SET(stream_.fd(), &writable);
  const int past_last = std::max(stream_.fd(), stop_.fd()) + 1;
  if (::pselect(past_last, &readable, &writable, nullptr, timeout, nullptr) < 0 && errno != EINTR) {
    throw system_error("stream", "select", errno);
  }
}

}  // namespace rkv::verbs
