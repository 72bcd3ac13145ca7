#include "backends/sim/cpu/memory.hpp"

#include <algorithm>
#include <cmath>

#include "backends/sim/cpu/core.hpp"

namespace rkv::sim {
namespace {

constexpr int entries_shift = 40;  // of the tag; below it the walk's CPU time in picoseconds

}  // namespace

Memory::Memory(World& world, const MemoryProfile& profile, std::uint32_t sockets)
    : world_(world), profile_(profile), channel_until_(sockets), walked_(sockets) {
  for (const auto& point : profile_.walk) {
    log_bytes_.push_back(std::log2(static_cast<double>(std::max<std::uint64_t>(point.working_set_bytes, 1))));
  }
}

Ps Memory::entry_cost(std::uint64_t working_set_bytes) const {
  if (known_cost_ >= 0 && working_set_bytes == known_bytes_) return known_cost_;
  const double bytes = std::log2(static_cast<double>(std::max<std::uint64_t>(working_set_bytes, 1)));
  const auto above = std::upper_bound(log_bytes_.begin(), log_bytes_.end(), bytes);
  const auto index = static_cast<std::size_t>(above - log_bytes_.begin());
  double cost = 0;
  if (index == 0) {
    cost = static_cast<double>(profile_.walk.front().entry);
  } else if (index == log_bytes_.size()) {
    cost = static_cast<double>(profile_.walk.back().entry);
  } else {
    const double part = (bytes - log_bytes_[index - 1]) / (log_bytes_[index] - log_bytes_[index - 1]);
    const auto low = static_cast<double>(profile_.walk[index - 1].entry);
    cost = low + part * (static_cast<double>(profile_.walk[index].entry) - low);
  }
  known_bytes_ = working_set_bytes;
  known_cost_ = std::llround(cost);
  return known_cost_;
}

double Memory::distance(std::uint32_t socket, std::uint64_t entries) {
  walked_[socket] += static_cast<double>(entries);
  walked_in_all_ += static_cast<double>(entries);
  const double remote = 1 - walked_[socket] / walked_in_all_;
  return 1 + (profile_.remote_socket_factor - 1) * remote;
}

void Memory::charge(Thread& thread, const Work& work) {
  if (work.entries_walked > 0) {
    const double time = static_cast<double>(work.entries_walked) *
                        static_cast<double>(entry_cost(work.working_set_bytes)) *
                        distance(thread.core->socket(), work.entries_walked);
    // What does not go with the clock is as much more work as the clock is faster.
    const double share = profile_.walk_clock_share;
    const double clock = static_cast<double>(thread.core->clock_permille()) / full_speed_permille;
    const Ps walk = std::llround(time * (share + (1 - share) * clock));
    if (work.working_set_bytes > profile_.cache_bytes) {
      const Ps cpu_time = std::min(walk, (Ps{1} << entries_shift) - 1);
      thread.record(*this, work.entries_walked << entries_shift | static_cast<std::uint64_t>(cpu_time));
    }
    thread.spend(walk + profile_.store_operation, Spent::store);
  }
  if (work.bytes_copied > 0) {
    thread.spend(std::llround(static_cast<double>(work.bytes_copied) * profile_.copy_ns_per_byte * ps_in_ns),
                 Spent::store);
  }
  if (work.keys_formatted > 0) thread.spend(work.keys_formatted * profile_.format_key, Spent::program);
}

void Memory::on_event(std::uint64_t tag) {
  Thread& thread = *world_.playing();
  const auto entries = static_cast<double>(tag >> entries_shift);
  const auto cpu_time = static_cast<Ps>(tag & ((std::uint64_t{1} << entries_shift) - 1));
  const Ps transfer =
      std::llround(entries * profile_.bytes_an_entry / profile_.bandwidth_bytes_per_ns * ps_in_ns);
  Ps& until = channel_until_[thread.core->socket()];
  until = std::max(until, world_.now()) + transfer;
  const Ps late = until - world_.now() - cpu_time;
  if (late > 0) thread.stall(late, Spent::store);
}

}  // namespace rkv::sim
