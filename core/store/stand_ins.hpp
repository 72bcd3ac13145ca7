// Entries that a modelled chained store counts but does not hold, so that a simulation can begin with a store
// that has grown for long. They are older than every entry it holds, so they stand behind these in the
// chains, and they are never written again: whoever makes them knows that the workload writes a key once. One
// thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rkv {

class StandIns {
 public:
  virtual ~StandIns() = default;

  // In a bucket's chain, in all chains, and of the store's max_bytes, as its real entries would count.
  [[nodiscard]] virtual std::uint64_t entries(std::size_t bucket) const = 0;
  [[nodiscard]] virtual std::uint64_t entries() const = 0;
  [[nodiscard]] virtual std::uint64_t bytes() const = 0;

  struct Found {
    double newer_part = 0;  // of the stand-ins in its chain: those in front of it, in [0, 1)
    std::uint32_t value_bytes = 0;
  };
  // Whether the key is among them. Its value is written to the start of `value_out` where that has room.
  [[nodiscard]] virtual std::optional<Found> find(std::span<const std::byte> key,
                                                  std::span<std::byte> value_out) const = 0;
};

}  // namespace rkv
