#include "backends/verbs/control/doorbell.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "core/error.hpp"

namespace rkv::control {

Doorbell::Doorbell() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (event_.get() < 0) throw Error(std::string("eventfd: ") + std::strerror(errno));
}

void Doorbell::ring() noexcept {
  const std::uint64_t one = 1;
  // The counter can't be full: it would have been rung 2^64 - 2 times without a look.
  [[maybe_unused]] const ssize_t written = ::write(event_.get(), &one, sizeof one);
}

bool Doorbell::rung() noexcept {
  std::uint64_t times = 0;
  return ::read(event_.get(), &times, sizeof times) == sizeof times;
}

}  // namespace rkv::control
