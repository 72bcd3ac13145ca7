// When a point's clients start and end, by the scenario's load: one after another, start_stagger apart, and,
// where the load is bounded by time, all together.
#pragma once

#include <cstdint>

#include "core/port/time.hpp"
#include "core/scenario/scenario.hpp"

namespace rkv {

struct LoadSchedule {
  Instant start;
  Instant warm_up_end;
  Instant end = never;
};

// Of client number `client` of `clients`, counted from `start`. Thread-safe.
[[nodiscard]] LoadSchedule load_schedule(const Load& load, std::uint32_t client, std::uint32_t clients,
                                         Instant start);

}  // namespace rkv
