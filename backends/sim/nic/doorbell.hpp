// The registers that threads write to tell the card of a request. The first `private_registers` queue pairs
// have one each; the others share `registers` in turn, each with a lock. 0: every queue pair has its own.
//
//   held = [until the register's lock is free] + [hand-over (cpu/hand_over.hpp), when another thread rang it
//          last] + write
//
// is CPU time of the posting thread, which spins for the lock. Its holder is taken to keep its CPU: the lock
// is held for the write only. Sources: Ren et al., "Scaling up memory disaggregated applications with SMART"
// (ASPLOS 2024): libmlx5 by default gives a device's queue pairs 16 registers, 4 of them to one each, and
// threads wait for the locks of the 12 others; mlx5's kernel driver gives them out as they are made, the
// least used first (alloc_bfreg).
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "backends/sim/cpu/hand_over.hpp"
#include "backends/sim/engine/time.hpp"

namespace rkv::sim {

class Doorbells {
 public:
  Doorbells(std::uint32_t private_registers, std::uint32_t registers, Ps write)
      : private_(private_registers), write_(write), registers_(registers) {}

  struct Poster {
    const void* thread = nullptr;  // by its address
    std::uint32_t socket = 0;      // that it runs on
  };
  // How long the poster is held up by ringing for the queue pair now. Queue pairs are counted from 0, in the
  // order in which they were made.
  Ps ring(std::uint32_t queue_pair, const Poster& poster, Ps now, const HandOver& costs) {
    if (registers_.empty() || queue_pair < private_) return write_;
    Register& reg = registers_[(queue_pair - private_) % registers_.size()];
    while (!reg.releases.empty() && reg.releases.front() <= now) reg.releases.pop_front();
    const Poster last = std::exchange(reg.last, poster);
    // Of those before this one the first has the lock and the others wait; at the hand-over as many of them
    // are gone as have come behind.
    const std::size_t before = reg.releases.size();
    const std::size_t waiters = before == 0 ? 0 : before - 1;
    const Ps free_at = before == 0 ? now : reg.releases.back();
    const bool handed_over = last.thread != nullptr && last.thread != poster.thread;
    const Ps until = free_at + (handed_over ? costs.cost(waiters, last.socket != poster.socket) : 0) + write_;
    reg.releases.push_back(until);
    return until - now;
  }

 private:
  struct Register {
    std::deque<Ps> releases;  // of those that have the lock or wait for it
    Poster last;
  };

  const std::uint32_t private_;
  const Ps write_;
  std::vector<Register> registers_;
};

}  // namespace rkv::sim
