#include "backends/verbs/port/stop_flag.hpp"

#include <sys/eventfd.h>

#include <cerrno>
#include <cstdint>

#include "backends/verbs/port/system_error.hpp"

namespace rkv::verbs {

EventStopFlag::EventStopFlag() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_.valid()) throw system_error("stop flag", "eventfd", errno);
}

void EventStopFlag::request() {
  const int saved_errno = errno;  // a signal handler must leave it as it was
  requested_.store(true, std::memory_order_release);
  const std::uint64_t one = 1;
  // Fails only when the counter is about to overflow, and then it is readable already.
  [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof one);
  errno = saved_errno;
}

const EventStopFlag& event_stop_flag(const StopFlag& flag) {
  const auto* own = dynamic_cast<const EventStopFlag*>(&flag);
  if (own == nullptr) throw Error("stop flag: it was made by another backend's runtime");
  return *own;
}

}  // namespace rkv::verbs
