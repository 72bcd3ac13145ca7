#include "core/store/cuckoo_store.hpp"

#include <fmt/format.h>

#include <memory>
#include <new>
#include <utility>

#include "core/error.hpp"
#include "core/store/charge.hpp"

namespace rkv {

namespace {

// With at least this many buckets libcuckoo has all its locks from the start. Smaller tables replace their
// lock array as they grow, while other threads read which array is the current one.
constexpr std::size_t initial_hashpower = 16;
constexpr std::uint64_t lock_bytes = (std::uint64_t{1} << initial_hashpower) * 64;

template <typename Table>
constexpr std::uint64_t bucket_bytes() {
  constexpr std::uint64_t slots = Table::slot_per_bucket();
  return slots * sizeof(typename Table::value_type) + slots * 2;  // and a partial key and a flag a slot
}

}  // namespace

CuckooStore::CuckooStore(Runtime& runtime, std::uint64_t max_bytes)
    : runtime_(runtime),
      budget_(max_bytes),
      table_((std::size_t{1} << initial_hashpower) * Table::slot_per_bucket()) {
  const std::uint64_t table_bytes = lock_bytes + (bucket_bytes<Table>() << initial_hashpower);
  if (!budget_.reserve(table_bytes)) {
    throw InputError(fmt::format("store.kind is cuckoo: the empty table takes {} bytes, the store may use {}",
                                 table_bytes, max_bytes));
  }
  table_.maximum_hashpower(initial_hashpower);
}

GetResult CuckooStore::get(std::span<const std::byte> key, std::span<std::byte> value_out, Work& work) {
  GetResult result{ResponseCode::key_error, 0};
  table_.find_fn(key, [&](const Blob& stored) {
    const std::size_t value_bytes = stored.bytes().size();
    if (value_bytes > value_out.size()) {
      result.code = ResponseCode::store_error;
      return;
    }
    stored.copy_to(value_out);
    result = {ResponseCode::ok, static_cast<std::uint32_t>(value_bytes)};
  });
  charge_walk(runtime_, 1, budget_.used_bytes(), work);
  if (result.code == ResponseCode::ok) {
    charge_copy(runtime_, result.value_bytes, work);
  }
  return result;
}

ResponseCode CuckooStore::set(std::span<const std::byte> key, std::span<const std::byte> value, Work& work) {
  const bool in_place = overwrite_in_place(key, value);
  const ResponseCode code = in_place ? ResponseCode::ok : insert_or_replace(key, value);
  charge_walk(runtime_, 1, budget_.used_bytes(), work);
  if (code == ResponseCode::ok) {
    charge_copy(runtime_, in_place ? value.size() : key.size() + value.size(), work);
  }
  return code;
}

ResponseCode CuckooStore::del(std::span<const std::byte> key, Work& work) {
  Blob removed;  // freed after the table's locks are
  const bool found = table_.erase_fn(key, [&](Blob& value) {
    removed = std::move(value);
    return true;
  });
  if (found) {
    entries_.fetch_sub(1, std::memory_order_relaxed);
    budget_.release(Blob::footprint(key.size()) + Blob::footprint(removed.capacity()));
  }
  charge_walk(runtime_, 1, budget_.used_bytes(), work);
  return found ? ResponseCode::ok : ResponseCode::key_error;
}

void CuckooStore::reset() {
  std::uint64_t held_bytes = 0;
  {
    // The whole table is locked: other calls wait, and see it empty.
    auto locked = table_.lock_table();
    for (const auto& [key, value] : locked) {
      held_bytes += Blob::footprint(key.capacity()) + Blob::footprint(value.capacity());
    }
    entries_.fetch_sub(locked.size(), std::memory_order_relaxed);
    locked.clear();
  }
  budget_.release(held_bytes);
}

bool CuckooStore::overwrite_in_place(std::span<const std::byte> key, std::span<const std::byte> value) {
  bool fitted = false;
  table_.update_fn(key, [&](Blob& stored) {
    fitted = value.size() <= stored.capacity();
    if (fitted) {
      stored.assign(value);
    }
  });
  return fitted;
}

ResponseCode CuckooStore::insert_or_replace(std::span<const std::byte> key,
                                            std::span<const std::byte> value) {
  if (key.size() > Blob::max_bytes || value.size() > Blob::max_bytes) {
    return ResponseCode::store_error;
  }
  const std::uint64_t key_bytes = Blob::footprint(key.size());
  const std::uint64_t value_bytes = Blob::footprint(value.size());
  if (!budget_.reserve(key_bytes + value_bytes)) {
    return ResponseCode::store_error;
  }
  Blob new_key = Blob::copy_of(key);
  Blob new_value = Blob::copy_of(value);
  while (new_key && new_value) {
    try {
      // libcuckoo moves from its arguments only once a slot is found, so a throw leaves them as they were.
      Blob replaced;  // freed after the table's locks are
      const auto replace = [&](Blob& stored) {
        replaced = std::move(stored);
        stored = std::move(new_value);
      };
      const bool inserted = table_.upsert(std::move(new_key), replace, std::move(new_value));
      if (inserted) {
        entries_.fetch_add(1, std::memory_order_relaxed);
      } else {
        budget_.release(key_bytes + Blob::footprint(replaced.capacity()));
      }
      return ResponseCode::ok;
    } catch (const libcuckoo::maximum_hashpower_exceeded& full) {
      if (!allow_doubling(full.hashpower() - 1)) {
        break;
      }
    } catch (const libcuckoo::load_factor_too_low&) {
      break;  // too many keys with one hash: doubling would not help
    }
  }
  budget_.release(key_bytes + value_bytes);
  return ResponseCode::store_error;
}

// Lets the table grow past a size at which it was full, when the budget has room for it: the doubled table,
// and the one before it until all entries have moved. False: it has not.
bool CuckooStore::allow_doubling(std::size_t beyond_hashpower) {
  const std::lock_guard guard(doubling_);
  const std::size_t allowed = table_.maximum_hashpower();
  if (allowed > beyond_hashpower) {
    return true;
  }
  // Counted now: this table and, once it was doubled, its predecessor, which is gone by the next doubling.
  const std::uint64_t doubled_bytes = bucket_bytes<Table>() << (allowed + 1);
  const std::uint64_t gone_bytes =
      allowed > initial_hashpower ? bucket_bytes<Table>() << (allowed - 1) : std::uint64_t{0};
  if (!budget_.reserve(doubled_bytes - gone_bytes)) {
    return false;
  }
  // libcuckoo does not survive a failed allocation while it doubles: make sure that there is the memory.
  const std::unique_ptr<std::byte[]> probe(new (std::nothrow) std::byte[doubled_bytes]);
  if (probe == nullptr) {
    budget_.release(doubled_bytes - gone_bytes);
    return false;
  }
  table_.maximum_hashpower(allowed + 1);
  return true;
}

}  // namespace rkv
