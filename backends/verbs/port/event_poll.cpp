#include "backends/verbs/port/event_poll.hpp"

#include <cerrno>

#include "backends/verbs/port/clock.hpp"
#include "backends/verbs/port/system_error.hpp"

namespace rkv::verbs {
namespace {

constexpr unsigned kind_shift = 32;

}  // namespace

EventPoll::EventPoll(std::span<VerbsCompletionQueue* const> queues, std::span<TcpStream* const> streams,
                     const EventStopFlag& stop)
    : queues_(queues),
      streams_(streams),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      watches_(streams.size()),
      events_(2 * queues.size() + streams.size() + 1) {
  if (!epoll_.valid()) throw system_error("wait set", "epoll_create1", errno);
  for (std::size_t i = 0; i < queues.size(); ++i) {
    add(queues[i]->channel_fd(), EPOLLIN | EPOLLEXCLUSIVE, Kind::channel, i);
    add(queues[i]->hand_over_fd(), EPOLLIN | EPOLLEXCLUSIVE, Kind::hand_over, i);
  }
  add(stop.fd(), EPOLLIN, Kind::stop, 0);
}

void EventPoll::add(int fd, std::uint32_t events, Kind kind, std::size_t index) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = (static_cast<std::uint64_t>(kind) << kind_shift) | index;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    throw system_error("wait set", "epoll_ctl", errno);
  }
}

// A stream with no room or that has ended is not watched at all: its error and hang-up events cannot be
// masked and would end every sleep.
void EventPoll::update_watches() {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const TcpStream& stream = *streams_[i];
    const std::uint32_t wanted = (stream.wants_read() ? static_cast<std::uint32_t>(EPOLLIN) : 0U) |
                                 (stream.wants_write() ? static_cast<std::uint32_t>(EPOLLOUT) : 0U);
    Watch& watch = watches_[i];
    if (wanted == watch.events) continue;
    if (watch.events == 0) {
      add(stream.fd(), wanted, Kind::stream, i);
    } else {
      epoll_event event{};
      event.events = wanted;
      event.data.u64 = (static_cast<std::uint64_t>(Kind::stream) << kind_shift) | i;
      const int operation = wanted == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
      if (::epoll_ctl(epoll_.get(), operation, stream.fd(), &event) != 0) {
        throw system_error("wait set", "epoll_ctl", errno);
      }
    }
    watch.events = wanted;
  }
}

bool EventPoll::sleep(Instant deadline) {
  update_watches();
  for (;;) {
    const Timeout timeout(deadline, deadline == never ? Instant{} : clock_now());
    const int count = ::epoll_pwait2(epoll_.get(), events_.data(), static_cast<int>(events_.size()),
                                     timeout.get(), nullptr);
    for (int i = 0; i < count; ++i) handle(events_[static_cast<std::size_t>(i)]);
    if (count > 0) return true;
    if (count < 0 && errno != EINTR) throw system_error("wait set", "epoll_pwait2", errno);
    if (count == 0 && clock_now() >= deadline) return false;
  }
}

void EventPoll::handle(const epoll_event& event) {
  const auto kind = static_cast<Kind>(event.data.u64 >> kind_shift);
  const auto index = static_cast<std::size_t>(event.data.u64 & 0xffff'ffffU);
  switch (kind) {
    case Kind::channel:
      queues_[index]->consume_event();
      break;
    case Kind::hand_over:
      queues_[index]->consume_hand_over();
      break;
    case Kind::stream:
      if ((event.events & EPOLLOUT) != 0) streams_[index]->flush();
      if ((event.events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) watches_[index].ready = true;
      break;
    case Kind::stop:
      break;  // the caller looks at the flag
  }
}

}  // namespace rkv::verbs
