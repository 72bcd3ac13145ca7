// What a peer may ask of a server, and whether a scenario stays within it.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "core/scenario/scenario.hpp"

namespace rkv::control {

// Paths, devices and core sets are never taken from the network.
struct ServerLimits {
  std::uint64_t max_memory_bytes = std::uint64_t{4} << 30;  // of a store, and of message buffers
  std::uint32_t max_threads = 4096;                         // workers
  std::chrono::seconds max_duration{3600};                  // of a point
  std::vector<int> cores;                                   // where its workers run; empty: anywhere
};

// Throws rkv::Error saying what was asked for, what is allowed and which option allows more. Workload
// verbs has no server and is refused.
void check_limits(const Scenario& scenario, const ServerLimits& limits);

// What the server's message buffers take at a point with so many clients, as core/exchange lays them out.
struct MessageMemory {
  std::uint64_t requests_bytes = 0;
  std::uint64_t responses_bytes = 0;
};
[[nodiscard]] MessageMemory message_memory(const Scenario& scenario, std::uint32_t clients);

}  // namespace rkv::control
