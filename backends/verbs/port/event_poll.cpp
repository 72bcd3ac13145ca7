#include "backends/verbs/port/event_poll.hpp"

#include <cerrno>
#include <mutex>

#include "backends/verbs/port/clock.hpp"
#include "backends/verbs/port/system_error.hpp"

namespace rkv::verbs {
namespace {

constexpr unsigned kind_shift = 32;

void watch_descriptor(int epoll, int operation, int fd, std::uint32_t events, std::uint64_t data) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = data;
  if (::epoll_ctl(epoll, operation, fd, &event) != 0) throw system_error("wait set", "epoll_ctl", errno);
}

}  // namespace

EventPoll::EventPoll(std::span<VerbsCompletionQueue* const> queues, std::span<TcpStream* const> streams,
                     const EventStopFlag& stop)
    : queues_(queues),
      streams_(streams),
      epoll_(queues.size() == 1 && streams.empty() ? shared_epoll(*queues.front(), stop)
                                                   : make_epoll(queues, stop)),
      watches_(streams.size()),
      events_(2 * queues.size() + streams.size() + 1) {}

std::uint64_t EventPoll::data(Kind kind, std::size_t index) {
  return (static_cast<std::uint64_t>(kind) << kind_shift) | index;
}

std::shared_ptr<const FileDescriptor> EventPoll::make_epoll(std::span<VerbsCompletionQueue* const> queues,
                                                            const EventStopFlag& stop) {
  auto epoll = std::make_shared<const FileDescriptor>(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll->valid()) throw system_error("wait set", "epoll_create1", errno);
  constexpr std::uint32_t each_wakes_one = EPOLLIN | EPOLLEXCLUSIVE | EPOLLET;
  for (std::size_t i = 0; i < queues.size(); ++i) {
    watch_descriptor(epoll->get(), EPOLL_CTL_ADD, queues[i]->channel_fd(), each_wakes_one,
                     data(Kind::channel, i));
    watch_descriptor(epoll->get(), EPOLL_CTL_ADD, queues[i]->hand_over_fd(), each_wakes_one,
                     data(Kind::hand_over, i));
  }
  // Not edge-triggered: who leaves because of it wakes the next.
  watch_descriptor(epoll->get(), EPOLL_CTL_ADD, stop.fd(), EPOLLIN, data(Kind::stop, 0));
  return epoll;
}

std::shared_ptr<const FileDescriptor> EventPoll::shared_epoll(VerbsCompletionQueue& queue,
                                                              const EventStopFlag& stop) {
  VerbsCompletionQueue::SleepingPlace& place = queue.sleeping_place();
  const std::lock_guard lock(place.mutex);
  auto epoll = place.stop == &stop ? place.epoll.lock() : nullptr;
  if (epoll == nullptr) {
    VerbsCompletionQueue* const only = &queue;
    epoll = make_epoll(std::span(&only, 1), stop);
    place.stop = &stop;
    place.epoll = epoll;
  }
  return epoll;
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
    const int operation = wanted == 0 ? EPOLL_CTL_DEL : watch.events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    watch_descriptor(epoll_->get(), operation, stream.fd(), wanted, data(Kind::stream, i));
    watch.events = wanted;
  }
}

bool EventPoll::sleep(Instant deadline) {
  update_watches();
  for (;;) {
    const Timeout timeout(deadline, deadline == never ? Instant{} : clock_now());
    const int count = ::epoll_pwait2(epoll_->get(), events_.data(), static_cast<int>(events_.size()),
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
