#include "backends/verbs/soft/cm/event_channel.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "backends/verbs/soft/cm/reactor.hpp"

namespace rkv::soft::cm {
namespace {

constexpr std::uint64_t retirement_ns = 100'000'000;

// A channel that nobody knows any more, until its deadline.
class Retired final : public Source {
 public:
  explicit Retired(std::unique_ptr<EventChannel> channel) : channel_(std::move(channel)) {}

  int start() {
    const int error = Reactor::instance().watch(*this, channel_->fd, 0);
    if (error == 0) Reactor::instance().set_deadline(*this, retirement_ns);
    return error;
  }
  void on_ready(std::uint32_t) override {}
  void on_deadline() override {
    Reactor::instance().unwatch(*this, channel_->fd);
    delete this;
  }

 private:
  std::unique_ptr<EventChannel> channel_;
};

}  // namespace

void EventChannel::retire(std::unique_ptr<EventChannel> channel) {
  const std::scoped_lock lock(Reactor::instance().mutex());
  auto retired = std::make_unique<Retired>(std::move(channel));
  if (retired->start() == 0) static_cast<void>(retired.release());  // destroys itself
}

std::unique_ptr<EventChannel> EventChannel::open() {
  std::unique_ptr<EventChannel> channel(new (std::nothrow) EventChannel);
  if (channel == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  if (channel->tokens_.fd() < 0) return nullptr;
  channel->fd = channel->tokens_.fd();
  return channel;
}

std::unique_ptr<Event> EventChannel::pop() {
  if (events_.empty()) return nullptr;
  std::unique_ptr<Event> event = std::move(events_.front());
  events_.pop_front();
  return event;
}

void EventChannel::push(std::unique_ptr<Event> event) {
  events_.push_back(std::move(event));
  tokens_.post();
}

std::vector<std::unique_ptr<Event>> EventChannel::withdraw(const Identifier& owner) {
  std::vector<std::unique_ptr<Event>> withdrawn;
  for (std::unique_ptr<Event>& event : events_) {
    if (event->owner == &owner) withdrawn.push_back(std::move(event));
  }
  std::erase(events_, nullptr);
  tokens_.withdraw(withdrawn.size());
  return withdrawn;
}

std::size_t EventChannel::count(const Identifier& owner) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(events_, [&](const auto& event) { return event->owner == &owner; }));
}

}  // namespace rkv::soft::cm
