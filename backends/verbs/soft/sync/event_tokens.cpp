#include "backends/verbs/soft/sync/event_tokens.hpp"

#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

namespace rkv::soft {

EventTokens::EventTokens() : fd_(eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC)) {}

EventTokens::~EventTokens() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

void EventTokens::post() noexcept {
  const std::uint64_t one = 1;
  // Can only fail when 2^64 - 2 events wait.
  [[maybe_unused]] const ssize_t written = write(fd_, &one, sizeof one);
}

bool EventTokens::take() noexcept {
  std::uint64_t token = 0;
  return read(fd_, &token, sizeof token) == static_cast<ssize_t>(sizeof token);
}

void EventTokens::withdraw(std::uint64_t count) noexcept {
  std::uint64_t token = 0;
  iovec buffer{.iov_base = &token, .iov_len = sizeof token};
  // RWF_NOWAIT and not poll-then-read: a reader may take the token in between.
  while (count > 0 && preadv2(fd_, &buffer, 1, -1, RWF_NOWAIT) > 0) {
    --count;
  }
}

}  // namespace rkv::soft
