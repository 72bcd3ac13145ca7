// The file descriptor of a queue of events: readable exactly while events wait, one token an event.
//
// It is a real descriptor, so poll, epoll and O_NONBLOCK work on it. The owner keeps the events themselves in
// a list of its own and calls post() after each addition, take() before each removal. Thread-safe. take()
// blocks as the descriptor's own flags say.
#pragma once

#include <cstdint>

namespace rkv::soft {

class EventTokens {
 public:
  // On failure fd() is -1 and errno says why.
  EventTokens();
  ~EventTokens();
  EventTokens(const EventTokens&) = delete;
  EventTokens& operator=(const EventTokens&) = delete;

  int fd() const { return fd_; }
  void post() noexcept;
  // False with errno set: EAGAIN (non-blocking and none there), EINTR.
  bool take() noexcept;
  // Withdraws up to `count` tokens of events that will never be delivered; never blocks. A reader that took
  // such a token already finds the list empty and has to take() again.
  void withdraw(std::uint64_t count) noexcept;

 private:
  int fd_;
};

}  // namespace rkv::soft
