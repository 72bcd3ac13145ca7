#include "backends/sim/cpu/memory.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "backends/sim/cpu/core.hpp"
#include "backends/sim/cpu/host.hpp"

namespace rkv::sim {
namespace {

constexpr double lately = 1e9;  // ps
constexpr double most_in_use = 0.95;

}  // namespace

Memory::Memory(const World& world, const MemoryProfile& profile, std::uint32_t sockets)
    : world_(world),
      profile_(profile),
      walk_(profile_.walk),
      lines_(profile_.lines),
      traffic_(sockets),
      walked_(sockets) {}

Ps Memory::refill_cost(std::uint64_t footprint_bytes, std::uint64_t others) const {
  const auto in_a_row = static_cast<double>(sim::refill_cost(lines_, footprint_bytes, others));
  return std::llround(in_a_row / profile_.lines_at_once);
}

double Memory::distance(std::uint32_t socket, std::uint64_t entries) {
  const double count = walks_count_ * static_cast<double>(entries);
  walked_[socket] += count;
  walked_in_all_ += count;
  const double remote = 1 - walked_[socket] / walked_in_all_;
  return 1 + (profile_.remote_socket_factor - 1) * remote;
}

void Memory::set_walked(const std::vector<double>& entries) {
  walked_ = entries;
  walked_in_all_ = std::accumulate(entries.begin(), entries.end(), 0.0);
}

std::uint32_t Memory::socket_of_an_entry(double at) const {
  double rest = at * walked_in_all_;
  std::uint32_t socket = 0;
  while (socket + 1 < walked_.size() && rest >= walked_[socket]) rest -= walked_[socket++];
  return socket;
}

double Memory::wait(double entries) {
  const double transfer = profile_.bytes_an_entry / profile_.bandwidth_bytes_per_ns * ps_in_ns;
  const double bank_cycle = static_cast<double>(profile_.bank_cycle);
  const double lines = profile_.bytes_an_entry / cache_line_bytes;
  const double kept = std::exp(static_cast<double>(traffic_at_ - world_.now()) / lately);
  traffic_at_ = world_.now();
  double wait = 0;
  for (std::size_t socket = 0; socket < traffic_.size(); ++socket) {
    double& bytes = traffic_[socket];
    bytes *= kept;
    const double rate = bytes / lately;  // a ps
    const double in_use = std::min(rate / profile_.bandwidth_bytes_per_ns * ps_in_ns, most_in_use);
    const double banks_in_use = std::min(rate / cache_line_bytes * bank_cycle / profile_.banks, most_in_use);
    const double here = entries * walked_[socket] / walked_in_all_;
    wait += here *
            (transfer * in_use / (1 - in_use) + lines * bank_cycle * banks_in_use / (2 * (1 - banks_in_use)));
    bytes += here * profile_.bytes_an_entry;
  }
  return wait;
}

double Memory::taken_by_neighbours(const Work& work) {
  if (profile_.kept == 0) return 0;
  auto& [fresh, older, oldest] = held_;
  const double steps = static_cast<double>(held_.size()) *
                       static_cast<double>(world_.now() - std::exchange(held_at_, world_.now())) /
                       static_cast<double>(profile_.kept);
  const double stay = std::exp(-steps);
  oldest = stay * (oldest + steps * (older + steps / 2 * fresh));
  older = stay * (older + steps * fresh);
  fresh = stay * fresh;
  const double lost = 1 - fresh - older - oldest;

  const auto entries = static_cast<double>(work.entries_walked);
  const double of = static_cast<double>(work.working_set_bytes) / profile_.bytes_an_entry;
  const double untouched = std::exp(-entries / of);
  for (double& part : held_) part *= untouched;
  fresh += 1 - untouched;
  const Ps more = profile_.lost_entry - entry_cost(work.working_set_bytes);
  return entries * lost * static_cast<double>(std::max<Ps>(more, 0));
}

void Memory::charge(Thread& thread, const Work& work) {
  if (work.entries_walked > 0) {
    const double time = static_cast<double>(work.entries_walked) *
                        static_cast<double>(entry_cost(work.working_set_bytes)) *
                        distance(thread.core->socket(), work.entries_walked);
    // What does not go with the clock is as much more work as the clock is faster.
    const double share = profile_.walk_clock_share;
    const double clock = static_cast<double>(thread.core->clock_permille()) / full_speed_permille;
    double walk = time * (share + (1 - share) * clock) + clock * taken_by_neighbours(work);
    if (work.working_set_bytes > profile_.cache_bytes) {
      const double missed =
          1 - static_cast<double>(profile_.cache_bytes) / static_cast<double>(work.working_set_bytes);
      walk += clock * wait(missed * static_cast<double>(work.entries_walked));
    }
    thread.spend(std::llround(walk) + profile_.store_operation, Spent::store);
    thread.host().numa_balancing().walked(thread);
  }
  if (work.bytes_copied > 0) {
    thread.spend(std::llround(static_cast<double>(work.bytes_copied) * profile_.copy_ns_per_byte * ps_in_ns),
                 Spent::store);
  }
  if (work.keys_formatted > 0) thread.spend(work.keys_formatted * profile_.format_key, Spent::program);
}

}  // namespace rkv::sim
