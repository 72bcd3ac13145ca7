// A descriptor that is awaited as the wait sets do, by epoll. Header only.
#pragma once

#include <sys/epoll.h>
#include <time.h>

#include <cerrno>
#include <string_view>

#include "backends/verbs/port/file_descriptor.hpp"
#include "backends/verbs/port/system_error.hpp"

namespace rkv::calibration {

class Epoll {
 public:
  // `where` is for errors: a device, an address or what is measured. The descriptor outlives this.
  Epoll(int fd, std::string_view where) : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (!epoll_.valid() || ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
      throw verbs::system_error(where, "epoll_ctl", errno);
    }
  }
  // Until there is something to read, or the time is over. Null: for ever.
  void wait(const timespec* timeout = nullptr) const {
    epoll_event event{};
    // Nothing else can go wrong with a descriptor that is watched.
    while (::epoll_pwait2(epoll_.get(), &event, 1, timeout, nullptr) < 0 && errno == EINTR) {
    }
  }

 private:
  verbs::FileDescriptor epoll_;
};

}  // namespace rkv::calibration
