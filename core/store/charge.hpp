// How every store charges its work: to the runtime at once, and into the caller's statistics.
#pragma once

#include <cstdint>

#include "core/port/runtime.hpp"

namespace rkv {

inline void charge_walk(Runtime& runtime, std::uint64_t entries, std::uint64_t working_set_bytes,
                        Work& work) {
  Work walk;
  walk.entries_walked = entries;
  walk.working_set_bytes = working_set_bytes;
  runtime.charge(walk);
  work.entries_walked += entries;
  work.working_set_bytes = working_set_bytes;
}

inline void charge_copy(Runtime& runtime, std::uint64_t bytes, Work& work) {
  Work copy;
  copy.bytes_copied = bytes;
  runtime.charge(copy);
  work.bytes_copied += bytes;
}

}  // namespace rkv
