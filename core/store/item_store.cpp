#include "core/store/item_store.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <utility>

#include "core/error.hpp"
#include "core/store/charge.hpp"

namespace rkv {
namespace {

// Of each part of the keys, one update may have both its items; the rest is so that a place that became free
// is not taken again at once.
constexpr std::uint64_t places_beyond_items = 512;

// A table's node and its bucket's pointer, beside the key's blob.
constexpr std::uint64_t entry_bytes = 48;

std::uint64_t entry_footprint(std::span<const std::byte> key) {
  return entry_bytes + Blob::footprint(key.size());
}

}  // namespace

std::uint64_t ItemStore::memory_bytes(std::uint64_t items, std::uint32_t key_and_value_bytes) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t place_bytes = ItemRegion::place_bytes(key_and_value_bytes);
  if (items > most / place_bytes - places_beyond_items) return most;
  return (items + places_beyond_items) * place_bytes;
}

ItemStore::ItemStore(Runtime& runtime, std::unique_ptr<MemoryRegion> memory,
                     std::uint32_t key_and_value_limit_bytes, std::uint64_t max_bytes)
    : runtime_(runtime),
      budget_(max_bytes),
      memory_(std::move(memory)),
      region_(runtime, *memory_, key_and_value_limit_bytes) {
  if (!budget_.reserve(memory_->bytes().size())) {
    throw InputError(fmt::format("store.kind is items: their memory takes {} bytes, the store may use {}",
                                 memory_->bytes().size(), max_bytes));
  }
  for (Part& part : parts_) {
    part.mutex = runtime.make_mutex();
    part.scratch.resize(ItemRegion::place_bytes(key_and_value_limit_bytes));
  }
}

ItemStore::Table::iterator ItemStore::find(Part& part, std::span<const std::byte> key, Work& work) {
  charge_walk(runtime_, 1, budget_.used_bytes(), work);
  return part.table.find(key);
}

GetResult ItemStore::get(std::span<const std::byte> key, std::span<std::byte> value_out, Work& work) {
  Part& part = part_of(key);
  const std::lock_guard guard(*part.mutex);
  const auto found = find(part, key, work);
  if (found == part.table.end()) return {ResponseCode::key_error, 0};
  // Summed and compared anew, though nobody replaces it now: clients LOCATE, and GET is none of a study's.
  const ItemPointer& pointer = found->second;
  const auto value =
      value_of_item(memory_->bytes().subspan(pointer.offset, item_bytes(pointer)), pointer, key);
  if (!value || value->size() > value_out.size()) return {ResponseCode::store_error, 0};
  if (!value->empty()) std::memcpy(value_out.data(), value->data(), value->size());
  charge_copy(runtime_, value->size(), work);
  return {ResponseCode::ok, static_cast<std::uint32_t>(value->size())};
}

GetResult ItemStore::locate(std::span<const std::byte> key, std::span<std::byte> pointer_out, Work& work) {
  if (pointer_out.size() < item_pointer_bytes) return {ResponseCode::store_error, 0};
  Part& part = part_of(key);
  const std::lock_guard guard(*part.mutex);
  const auto found = find(part, key, work);
  if (found == part.table.end()) return {ResponseCode::key_error, 0};
  write_item_pointer(pointer_out, found->second);
  charge_copy(runtime_, item_pointer_bytes, work);
  return {ResponseCode::ok, item_pointer_bytes};
}

ResponseCode ItemStore::set(std::span<const std::byte> key, std::span<const std::byte> value, Work& work) {
  Part& part = part_of(key);
  const std::lock_guard guard(*part.mutex);
  const auto found = find(part, key, work);
  if (found == part.table.end()) return insert(part, key, value, work);
  const auto placed = place(part, key, value, work);
  if (!placed) return ResponseCode::store_error;
  region_.retire(found->second);
  found->second = *placed;
  return ResponseCode::ok;
}

ResponseCode ItemStore::insert(Part& part, std::span<const std::byte> key, std::span<const std::byte> value,
                               Work& work) {
  if (key.size() > Blob::max_bytes || !budget_.reserve(entry_footprint(key))) {
    return ResponseCode::store_error;
  }
  Blob stored = Blob::copy_of(key);
  const auto placed = stored ? place(part, key, value, work) : std::nullopt;
  if (!placed) {
    budget_.release(entry_footprint(key));
    return ResponseCode::store_error;
  }
  try {
    part.table.emplace(std::move(stored), *placed);
  } catch (const std::bad_alloc&) {
    region_.retire(*placed);
    budget_.release(entry_footprint(key));
    return ResponseCode::store_error;
  }
  entries_.fetch_add(1, std::memory_order_relaxed);
  return ResponseCode::ok;
}

std::optional<ItemPointer> ItemStore::place(Part& part, std::span<const std::byte> key,
                                            std::span<const std::byte> value, Work& work) {
  // Key and value are copied into the frame, which is summed and copied to where it can be READ.
  charge_copy(runtime_, 3 * (key.size() + value.size()), work);
  return region_.place(key, value, part.scratch);
}

ResponseCode ItemStore::del(std::span<const std::byte> key, Work& work) {
  Part& part = part_of(key);
  const std::lock_guard guard(*part.mutex);
  const auto found = find(part, key, work);
  if (found == part.table.end()) return ResponseCode::key_error;
  region_.retire(found->second);
  part.table.erase(found);
  entries_.fetch_sub(1, std::memory_order_relaxed);
  budget_.release(entry_footprint(key));
  return ResponseCode::ok;
}

void ItemStore::reset() {
  for (Part& part : parts_) {
    const std::lock_guard guard(*part.mutex);
    for (const auto& [key, pointer] : part.table) {
      region_.retire(pointer);
      budget_.release(entry_footprint(key.bytes()));
    }
    entries_.fetch_sub(part.table.size(), std::memory_order_relaxed);
    part.table.clear();
  }
}

}  // namespace rkv
