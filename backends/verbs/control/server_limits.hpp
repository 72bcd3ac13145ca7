// What a peer may ask of a server, and whether a scenario stays within it.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "core/scenario/scenario.hpp"

namespace rkv::control {

// Paths, devices and core sets are never taken from the network.
struct ServerLimits {
  // Of a store, and of message buffers; of workload verbs of all memory and queues.
  std::uint64_t max_memory_bytes = std::uint64_t{4} << 30;
  std::uint32_t max_threads = 4096;         // workers, or receivers and clients of workload verbs
  std::chrono::seconds max_duration{3600};  // of a point
  std::vector<int> cores = {};              // where its workers run; empty: anywhere
  std::vector<int> client_cores = {};       // and clients on its side
};

// Throws rkv::Error saying what was asked for, what is allowed and which option allows more. `processes`:
// that run the clients.
void check_limits(const Scenario& scenario, const ServerLimits& limits, std::uint32_t processes);

// What the server's message buffers take at a point with so many clients, as core/exchange lays them out.
struct MessageMemory {
  std::uint64_t requests_bytes = 0;
  std::uint64_t responses_bytes = 0;
};
[[nodiscard]] MessageMemory message_memory(const Scenario& scenario, std::uint32_t clients);

}  // namespace rkv::control
