// A thread that waits in the kernel for another one, by an eventfd. Header only.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "backends/verbs/port/file_descriptor.hpp"
#include "backends/verbs/port/system_error.hpp"

namespace rkv::calibration {

class Event {
 public:
  Event() : fd_(::eventfd(0, EFD_CLOEXEC)) {
    if (!fd_.valid()) throw verbs::system_error("measuring the kernel", "eventfd", errno);
  }
  [[nodiscard]] int fd() const { return fd_.get(); }
  void write() const {
    const std::uint64_t one = 1;
    // The counter cannot be full.
    [[maybe_unused]] const auto written = ::write(fd_.get(), &one, sizeof one);
  }
  // Waits until there is something.
  void read() const {
    std::uint64_t count = 0;
    while (::read(fd_.get(), &count, sizeof count) < 0 && errno == EINTR) {
    }
  }

 private:
  verbs::FileDescriptor fd_;
};

}  // namespace rkv::calibration
