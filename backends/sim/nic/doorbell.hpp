// The registers that threads write to tell the card of a request, each with a lock. `threads_a_register`
// threads share one, in the order in which they first ring.
//
//   held = [until the register's lock is free] + [hand-over, when another thread rang it last] + write
//
// is CPU time of the posting thread, which spins for the lock. Its holder is taken to keep its CPU: the lock
// is held for the write only. Source: Ren et al., "Scaling up memory disaggregated applications with SMART"
// (ASPLOS 2024): libmlx5 by default gives all threads of a device 16 registers, whose locks they share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "backends/sim/engine/time.hpp"

namespace rkv::sim {

class Doorbells {
 public:
  Doorbells(std::uint32_t threads_a_register, Ps write, Ps hand_over)
      : threads_a_register_(threads_a_register), write_(write), hand_over_(hand_over) {}

  // How long the poster, known by its address, is held up by ringing now.
  Ps ring(const void* poster, Ps now) {
    if (threads_a_register_ <= 1) return write_;
    Register& reg = register_of(poster);
    const bool handed_over = reg.last != nullptr && reg.last != poster;
    reg.last = poster;
    reg.free_at = std::max(now, reg.free_at) + (handed_over ? hand_over_ : 0) + write_;
    return reg.free_at - now;
  }

 private:
  struct Register {
    Ps free_at = 0;
    const void* last = nullptr;
  };

  Register& register_of(const void* poster) {
    // Looked up only, never walked: addresses do not reach results.
    const auto [entry, fresh] = number_of_.try_emplace(poster, number_of_.size() / threads_a_register_);
    if (fresh && entry->second == registers_.size()) registers_.emplace_back();
    return registers_[entry->second];
  }

  const std::uint32_t threads_a_register_;
  const Ps write_;
  const Ps hand_over_;
  std::unordered_map<const void*, std::size_t> number_of_;
  std::vector<Register> registers_;
};

}  // namespace rkv::sim
