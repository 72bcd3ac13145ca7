// How many threads, queue pairs and completion queues a server of the store has: what its exchange makes, and
// what a scenario is checked for. `clients`: of the point.
#pragma once

#include <cstdint>

#include "core/scenario/scenario.hpp"

namespace rkv {

// The server's threads.
[[nodiscard]] std::uint32_t worker_count(const Scenario& scenario, std::uint32_t clients);

// Requests that a client has outstanding over each of its queue pairs, at most.
[[nodiscard]] constexpr std::uint32_t window_a_queue_pair(const Scenario& scenario) {
  return (scenario.load.window + scenario.queue_pair.per_client - 1) / scenario.queue_pair.per_client;
}

// Whether its exchange's messages take receives at either side.
[[nodiscard]] constexpr bool posts_receives(const Scenario& scenario) {
  return !uses_slots(scenario.exchange) || scenario.exchange == Exchange::write_send ||
         scenario.slots.immediate;
}

// SEND-SEND: queue pairs, and groups of them and of workers (core/exchange/send_send_server.hpp).
[[nodiscard]] std::uint32_t queue_pair_count(const Scenario& scenario, std::uint32_t clients);
[[nodiscard]] std::uint32_t group_count(const Scenario& scenario, std::uint32_t clients);

// Receives of the server's shared_receive_queue.
[[nodiscard]] std::uint64_t shared_receives(const Scenario& scenario, std::uint32_t clients);

// The indices below `count` that fall to `group` when they are dealt out in turn: the most to group 0.
[[nodiscard]] constexpr std::uint32_t dealt(std::uint32_t count, std::uint32_t groups, std::uint32_t group) {
  return count / groups + (group < count % groups ? 1 : 0);
}

}  // namespace rkv
