#include "core/workload/turns.hpp"

namespace rkv {

Turns::Turns(const TurnOptions& options, std::uint32_t client, std::uint32_t clients) {
  if (options.clients == 0) return;
  groups_ = (clients + options.clients - 1) / options.clients;
  period_ = groups_ * options.length;
  length_ = options.length + options.overlap;
  // Neighbours are in one group: servers deal clients out to their workers in turn.
  const auto group = static_cast<std::uint32_t>(std::uint64_t{client} * groups_ / clients);
  // Of group 0 the turn that it would have begun before the clock's zero is the last one of a period.
  first_ = (period_ + group * options.length - options.overlap) % period_;
}

Instant Turns::next(Instant time) const {
  if (!taken()) return time;
  const Duration since_start = (time.time_since_epoch() + period_ - first_) % period_;
  return since_start < length_ ? time : time + (period_ - since_start);
}

}  // namespace rkv
