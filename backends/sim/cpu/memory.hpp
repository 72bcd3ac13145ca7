// What the store's work costs on a host.
//
//   entry walked   interpolated from the profile's table against the logarithm of the working set, times the
//                  remote factor for the part of it that lies in other sockets. An entry lies where the
//                  thread ran that made it (Linux: first touch), and each socket has made as large a part of
//                  the entries as it has walked.
//   clock          walk_clock_share of it goes with the clock (turbo.hpp), the rest takes its time anyhow
//   bandwidth      a working set beyond the caches is read from memory: bytes_an_entry each, from a channel
//                  a socket, first come first served. A walk ends when its CPU time is over and its bytes
//                  have come (a roofline: Williams, Waterman, Patterson, CACM 52(4), 2009).
#pragma once

#include <cstdint>
#include <vector>

#include "backends/sim/cpu/thread.hpp"
#include "backends/sim/profile/profile.hpp"
#include "core/port/runtime.hpp"

namespace rkv::sim {

class Memory final : public EventHandler {
 public:
  Memory(World& world, const MemoryProfile& profile, std::uint32_t sockets);

  // Records the work in the thread's burst.
  void charge(Thread& thread, const Work& work);
  // CPU time of walking one entry in memory of the walker's own socket.
  [[nodiscard]] Ps entry_cost(std::uint64_t working_set_bytes) const;
  [[nodiscard]] const MemoryProfile& profile() const { return profile_; }

  // Played at the start of a walk: the tag is how many entries it reads, and its CPU time in nanoseconds.
  void on_event(std::uint64_t tag) override;

 private:
  // An entry's cost over that in own memory, for who walks on this socket.
  double distance(std::uint32_t socket, std::uint64_t entries);

  World& world_;
  const MemoryProfile profile_;
  std::vector<double> log_bytes_;  // of profile_.walk
  std::vector<Ps> channel_until_;  // a socket each
  std::vector<double> walked_;     // a socket each: entries
  double walked_in_all_ = 0;
  // The last answer of entry_cost: the working set grows slowly.
  mutable std::uint64_t known_bytes_ = 0;
  mutable Ps known_cost_ = -1;
};

}  // namespace rkv::sim
