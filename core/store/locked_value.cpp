#include "core/store/locked_value.hpp"

#include <utility>

#include "core/store/charge.hpp"

namespace rkv {

GetResult LockedValue::read(Runtime& runtime, std::span<std::byte> out, Work& work) {
  if (!runtime.try_lock_shared(lock)) {
    return {ResponseCode::key_error, 0};
  }
  GetResult result{ResponseCode::store_error, 0};
  const std::size_t value_bytes = value.bytes().size();
  if (value_bytes <= out.size()) {
    value.copy_to(out);
    charge_copy(runtime, value_bytes, work);
    result = {ResponseCode::ok, static_cast<std::uint32_t>(value_bytes)};
  }
  runtime.unlock_shared(lock);
  return result;
}

ResponseCode LockedValue::overwrite(Runtime& runtime, MemoryBudget& budget,
                                    std::span<const std::byte> new_value, Work& work) {
  Blob larger;  // made before the lock is taken, so that no GET fails because of an allocation
  std::uint64_t taken_bytes = 0;
  if (new_value.size() > value.capacity()) {
    taken_bytes = Blob::footprint(new_value.size());
    if (new_value.size() > Blob::max_bytes || !budget.reserve(taken_bytes)) {
      return ResponseCode::store_error;
    }
    larger = Blob::copy_of(new_value);
    if (!larger) {
      budget.release(taken_bytes);
      return ResponseCode::store_error;
    }
    charge_copy(runtime, new_value.size(), work);
  }
  if (!runtime.try_lock(lock)) {
    budget.release(taken_bytes);
    return ResponseCode::key_error;
  }
  if (larger) {
    budget.release(Blob::footprint(value.capacity()));
    value = std::move(larger);
  } else {
    value.assign(new_value);
    charge_copy(runtime, new_value.size(), work);
  }
  runtime.unlock(lock);
  return ResponseCode::ok;
}

}  // namespace rkv
