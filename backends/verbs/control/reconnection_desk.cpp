#include "backends/verbs/control/reconnection_desk.hpp"

#include <chrono>
#include <utility>

namespace rkv::control {
namespace {

constexpr std::chrono::milliseconds between_looks_at_stop{10};

}  // namespace

std::optional<Endpoint> ReconnectionDesk::ask(std::uint32_t index, const Endpoint& own,
                                              const StopFlag& stop) {
  std::unique_lock lock(mutex_);
  Request& request = requests_[index];
  asked_.push_back({.index = index, .own = own});
  while (!request.answered) {
    // It stays on the list, where its answer finds it.
    if (stop.requested()) return std::nullopt;
    answered_.wait_for(lock, between_looks_at_stop);
  }
  return std::move(requests_.extract(index).mapped().server);
}

std::vector<ReconnectionDesk::Asked> ReconnectionDesk::take_asked() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(asked_, {});
}

bool ReconnectionDesk::answer(std::uint32_t index, const std::optional<Endpoint>& server) {
  {
    const std::scoped_lock lock(mutex_);
    const auto request = requests_.find(index);
    if (request == requests_.end() || request->second.answered) return false;
    request->second = {.answered = true, .server = server};
  }
  answered_.notify_all();
  return true;
}

}  // namespace rkv::control
