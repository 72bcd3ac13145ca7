// What the store's work costs on a host.
//
//   entry walked   interpolated from the profile's table against the logarithm of the working set, times the
//                  remote factor for the part of it that lies in other sockets. An entry lies where the
//                  thread ran that made it (Linux: first touch), and each socket has made as large a part of
//                  the entries as it has walked.
//   clock          walk_clock_share of it goes with the clock (turbo.hpp), the rest takes its time anyhow
//   load           entries that the caches do not hold, 1 - cache / working set of them, are read from the
//                  memory of the socket where they lie, behind what others read from it. More for each, with
//                  t = bytes_an_entry / bandwidth and u the part of the bandwidth that was in use lately:
//
//                    t u / (1 - u)      waiting in an M/M/1 queue (Kleinrock, Queueing Systems I, 1975, 3.2)
//
//                  and with l = bytes_an_entry / 64 lines, each of which keeps one of the banks, whichever
//                  it is, busy for b = bank_cycle_ns (a row is opened, read and closed; JESD79-4: tRC), and
//                  v the part of all banks' time that was in use lately:
//
//                    l b v / 2 (1 - v)  waiting in an M/D/1 queue (same book, 5.6: Pollaczek, Khinchine)
//
//                  Lately: weighted by exp(-age / 1 ms). u and v count as 0.95 at most.
//   neighbours     lines leave caches that others use too. Each grows old by three steps, as in a queue in
//                  order of use into which others put lines: it is lost after kept_ns on average, and hardly
//                  ever at once (bench/kept_lines.cpp; measured by
//                  calibration/measure/neighbours.hpp). Of the entries f, g and h have grown old by none, one
//                  and two steps. With x = 3 / kept_ns times the time since the last walk, and k entries
//                  walked now, each of the N = working set / bytes_an_entry as likely as any other, in turn:
//
//                    f, g, h = e^-x f,  e^-x (g + x f),  e^-x (h + x g + x^2 f / 2)
//                    (1 - f - g - h) max(lost_entry - walk(working set), 0)   more for each of the k
//                    f, g, h = 1 - e^(-k/N) (1 - f),  e^(-k/N) g,  e^(-k/N) h
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "backends/sim/cpu/cost_by_size.hpp"
#include "backends/sim/cpu/thread.hpp"
#include "backends/sim/profile/profile.hpp"
#include "core/port/runtime.hpp"

namespace rkv::sim {

class Memory {
 public:
  Memory(const World& world, const MemoryProfile& profile, std::uint32_t sockets);

  // Records the work in the thread's burst.
  void charge(Thread& thread, const Work& work);
  // CPU time of walking one entry in memory of the walker's own socket.
  [[nodiscard]] Ps entry_cost(std::uint64_t working_set_bytes) const { return walk_.at(working_set_bytes); }
  // For a thread that touches so much and comes back when so many others have touched as much each.
  [[nodiscard]] Ps refill_cost(std::uint64_t footprint_bytes, std::uint64_t others) const;
  // Of an entry drawn by 0 <= at < 1: the socket where it lies.
  [[nodiscard]] std::uint32_t socket_of_an_entry(double at) const;
  // Entries that were walked in each socket so far.
  [[nodiscard]] const std::vector<double>& walked() const { return walked_; }
  // What is walked from now on counts so many times for where entries lie.
  void count_walks(double times) { walks_count_ = times; }
  // Puts the store into a stage of a run: so many were walked in each socket.
  void set_walked(const std::vector<double>& entries);
  [[nodiscard]] const MemoryProfile& profile() const { return profile_; }

 private:
  // An entry's cost over that in own memory, for who walks on this socket.
  double distance(std::uint32_t socket, std::uint64_t entries);

  // What the entries, of those just walked, cost more for being read from memories in use. Uses them.
  double wait(double entries);
  // What so many entries cost more because neighbours have taken their places in the caches. Puts them there.
  double taken_by_neighbours(const Work& work);

  const World& world_;
  const MemoryProfile profile_;
  CostBySize walk_;
  CostBySize lines_;
  std::vector<double> traffic_;  // a socket each: bytes read lately, weighted by age
  Ps traffic_at_ = 0;            // as of when
  std::vector<double> walked_;   // a socket each: entries
  double walked_in_all_ = 0;
  double walks_count_ = 1;
  // The parts of the store that the caches hold, by how many steps they have grown old.
  std::array<double, 3> held_{1, 0, 0};
  Ps held_at_ = 0;  // as of when
};

}  // namespace rkv::sim
