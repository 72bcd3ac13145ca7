// An entry's value and its lock, of the chained store and of its model. The lock is only ever tried: an
// operation that does not obtain it answers KEY_ERROR.
#pragma once

#include <cstddef>
#include <span>

#include "core/store/blob.hpp"
#include "core/store/memory_budget.hpp"
#include "core/store/store.hpp"

namespace rkv {

struct LockedValue {
  TryLock lock;
  Blob value;  // replaced only under the bucket's mutex and the lock

  // GET's part: locks shared, copies out, unlocks.
  [[nodiscard]] GetResult read(Runtime& runtime, std::span<std::byte> out, Work& work);
  // SET's part, under the bucket's mutex: in place where the value fits, else into a new block.
  [[nodiscard]] ResponseCode overwrite(Runtime& runtime, MemoryBudget& budget,
                                       std::span<const std::byte> new_value, Work& work);
};

}  // namespace rkv
