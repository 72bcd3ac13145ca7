#include "backends/sim/cpu/poll_lock.hpp"

#include "backends/sim/cpu/core.hpp"

namespace rkv::sim {

bool PollLock::lose_cpu(Thread& thread, bool taking) {
  const int pollers = pollers_--;
  if (held() || (!taking && (!costs_ || thread.world().rng().unit() * pollers >= 1))) return false;
  holder_ = &thread;
  return true;
}

bool PollLock::regain_cpu(const Thread& thread) {
  ++pollers_;
  if (holder_ != &thread) return false;
  holder_ = nullptr;
  return true;
}

Ps PollLock::cost(const Thread& thread) const {
  if (!costs_ || (pollers_ <= 1 && (last_ == nullptr || last_ == &thread))) return 0;
  return costs_->cost(waiting(), last_ != nullptr && thread.core->socket() != last_socket_);
}

void PollLock::taken(const Thread& thread) {
  last_ = &thread;
  last_socket_ = thread.core->socket();
}

}  // namespace rkv::sim
