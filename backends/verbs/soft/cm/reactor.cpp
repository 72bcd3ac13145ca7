#include "backends/verbs/soft/cm/reactor.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <system_error>
#include <thread>

#include "backends/verbs/soft/verbs/clock.hpp"

namespace rkv::soft::cm {
namespace {

constexpr std::uint64_t wake_key = 0;
constexpr std::uint64_t ns_per_ms = 1'000'000;

}  // namespace

Reactor& Reactor::instance() {
  // Never destroyed: the thread is detached and may outlive static destruction.
  static auto* const reactor = new Reactor;
  return *reactor;
}

Reactor::Reactor()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

int Reactor::start() {
  if (started_) return 0;
  epoll_event event{.events = EPOLLIN, .data = {.u64 = wake_key}};
  if (!epoll_.valid() || !wake_.valid()) return EMFILE;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0 && errno != EEXIST) return errno;
  try {
    std::thread([this] { run(); }).detach();
  } catch (const std::system_error&) {
    return EAGAIN;
  }
  started_ = true;
  return 0;
}

int Reactor::watch(Source& source, int fd, std::uint32_t events) {
  if (const int error = start(); error != 0) return error;
  source.key_ = ++last_key_;
  epoll_event event{.events = events, .data = {.u64 = source.key_}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return errno;
  sources_[source.key_] = &source;
  return 0;
}

void Reactor::pause(int fd) {
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Reactor::resume(const Source& source, int fd, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.u64 = source.key_}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
}

void Reactor::unwatch(Source& source, int fd) {
  if (sources_.erase(source.key_) != 0) pause(fd);
  source.deadline_ns_ = 0;
}

void Reactor::set_deadline(Source& source, std::uint64_t in_ns) {
  source.deadline_ns_ = monotonic_ns() + in_ns;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

int Reactor::timeout_ms() const {
  constexpr int forever = -1;
  std::uint64_t first_ns = 0;
  for (const auto& [key, source] : sources_) {
    const std::uint64_t each_ns = source->deadline_ns_;
    if (each_ns != 0 && (first_ns == 0 || each_ns < first_ns)) first_ns = each_ns;
  }
  if (first_ns == 0) return forever;
  const std::uint64_t now_ns = monotonic_ns();
  return first_ns <= now_ns ? 0 : static_cast<int>((first_ns - now_ns) / ns_per_ms + 1);
}

void Reactor::call_those_due() {
  for (;;) {
    const std::uint64_t now_ns = monotonic_ns();
    const auto due = std::ranges::find_if(sources_, [&](const auto& each) {
      return each.second->deadline_ns_ != 0 && each.second->deadline_ns_ <= now_ns;
    });
    if (due == sources_.end()) return;
    due->second->deadline_ns_ = 0;
    due->second->on_deadline();
  }
}

void Reactor::run() {
  std::array<epoll_event, 64> ready{};
  std::unique_lock lock(mutex_);
  for (;;) {
    const int timeout = timeout_ms();
    lock.unlock();
    const int count = ::epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()), timeout);
    lock.lock();
    for (const epoll_event& event : std::span(ready).first(static_cast<std::size_t>(std::max(count, 0)))) {
      const std::uint64_t key = event.data.u64;  // which is packed
      if (key == wake_key) {
        std::uint64_t count_of_wakes = 0;
        [[maybe_unused]] const ssize_t taken = ::read(wake_.get(), &count_of_wakes, sizeof count_of_wakes);
      } else if (const auto found = sources_.find(key); found != sources_.end()) {
        found->second->on_ready(event.events);
      }
    }
    call_those_due();
  }
}

}  // namespace rkv::soft::cm
