// The key-value store behind the server: one interface, several tables, chosen by the scenario.
//
// Thread-safety: every function may be called by several workers at once, unless it says otherwise.
// Keys and values are bytes; nothing is kept of the caller's buffers.
//
// A store charges its work to its runtime itself, where it does it (Runtime::charge): each walk by
// entries_walked and the working_set_bytes at that time, each copy by bytes_copied, both before it releases
// the runtime's lock under which they were done. Callers don't charge it again. `work` is for their
// statistics: entries_walked and bytes_copied are added to, working_set_bytes is set to the bytes the store
// holds now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/message/protocol.hpp"
#include "core/port/device.hpp"
#include "core/port/runtime.hpp"
#include "core/scenario/scenario.hpp"

namespace rkv {

struct GetResult {
  ResponseCode code = ResponseCode::key_error;
  std::uint32_t value_bytes = 0;
};

class Store {
 public:
  virtual ~Store() = default;

  // Copies the value into `value_out`. A value longer than that gives store_error and copies nothing.
  virtual GetResult get(std::span<const std::byte> key, std::span<std::byte> value_out, Work& work) = 0;
  // Where the key's item lies, for who READs it (core/store/item_pointer.hpp), in place of its value. Tables
  // that have no items understand no such request.
  virtual GetResult locate(std::span<const std::byte> key, std::span<std::byte> pointer_out, Work& work);
  virtual ResponseCode set(std::span<const std::byte> key, std::span<const std::byte> value, Work& work) = 0;
  virtual ResponseCode del(std::span<const std::byte> key, Work& work) = 0;
  // Forgets everything that was SET before the call; what is SET while it runs may stay.
  virtual void reset() = 0;
  [[nodiscard]] virtual std::uint64_t entries() const = 0;
  // The memory that located items are READ from.
  [[nodiscard]] virtual RemoteMemory items() const { return {}; }
};

// `runtime` provides the locks, is charged, and must outlive the store. max_bytes bounds keys, values and
// their bookkeeping together; a SET that would pass it answers store_error. Not for items, whose store needs
// a device, too (item_store.hpp, core/run/server_store.hpp).
std::unique_ptr<Store> make_store(const StoreOptions& options, Runtime& runtime, std::uint64_t max_bytes);
// For simulations: tables of the same answers and charges that don't walk long chains. One simulated thread
// at a time runs in them (modelled_chained_store.hpp).
std::unique_ptr<Store> make_modelled_store(const StoreOptions& options, Runtime& runtime,
                                           std::uint64_t max_bytes);

}  // namespace rkv
