#include "backends/verbs/control/stop_signal.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "core/error.hpp"

namespace rkv::control {
namespace {

// A handler has no other way to its object.
std::atomic<StopSignal*> on_interrupt{nullptr};

extern "C" void rkv_on_interrupt(int) {
  on_interrupt.load()->raise();
}

}  // namespace

StopSignal::StopSignal() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (event_.get() < 0) throw Error(std::string("eventfd: ") + std::strerror(errno));
}

void StopSignal::raise() noexcept {
  const int saved = errno;
  raised_.store(true);
  const std::uint64_t one = 1;
  // The counter can't be full, and there is nobody to tell.
  [[maybe_unused]] const ssize_t written = ::write(event_.get(), &one, sizeof one);
  errno = saved;
}

const StopSignal& interrupt_signal() {
  static StopSignal signal;
  on_interrupt.store(&signal);
  struct sigaction action {};
  action.sa_handler = rkv_on_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  return signal;
}

}  // namespace rkv::control
