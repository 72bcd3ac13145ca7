// How the memory of a client's outstanding operations lies: a slot for each place of its window.
#pragma once

#include <cstdint>

#include "core/exchange/layout.hpp"
#include "core/scenario/scenario.hpp"

namespace rkv {

// Whether the client looks at the memory that unsignalled operations bring bytes to.
[[nodiscard]] inline bool watches(const Scenario& scenario) {
  return scenario.verbs.operation == VerbsOptions::Operation::read && scenario.verbs.watch;
}

// Places within a slot's first line that an operation's bytes may begin at. What the client looks at stays
// where it is, as rc_swarm has it.
[[nodiscard]] inline std::uint32_t places_of_a_slot(const Scenario& scenario) {
  const bool looks = scenario.queue_pair.signal_interval > 1 && watches(scenario);
  return looks ? 1 : line_bytes / scenario.verbs.alignment_bytes;
}

// From one slot to the next.
[[nodiscard]] inline std::uint32_t slot_stride_bytes(const Scenario& scenario) {
  return round_to_line(scenario.verbs.bytes + (places_of_a_slot(scenario) > 1 ? line_bytes - 1 : 0));
}

}  // namespace rkv
