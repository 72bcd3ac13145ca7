// What each key number of a scenario looks like: its bytes, and the value that it has before the run.
//
// Key numbers are one sequence for the whole run: with shared keys the index itself; with keys of the
// clients' own, index * clients + client, so that they stay close together however many there are. The
// thesis's key number n of client c has the index n + 1, since it asks for key -1 too. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/scenario/scenario.hpp"
#include "core/workload/size_sampler.hpp"
#include "core/workload/value_text.hpp"

namespace rkv {

class KeySpace {
 public:
  // clients > 0: how many take part in the run.
  KeySpace(const Scenario& scenario, std::uint32_t clients);

  [[nodiscard]] std::uint64_t key_id(std::uint64_t index, std::uint32_t client) const {
    return per_client_ ? index * clients_ + client : index;
  }

  // Writes the key and returns its bytes; largest_key_bytes(scenario) are enough.
  std::uint32_t write_key(std::uint64_t key_id, std::span<std::byte> out) const;

  // Writes the value that a SET with this tag stores and returns its bytes: tag.bytes, or for the thesis the
  // bytes of its text, which depends on the key alone. largest_value_bytes(scenario) are enough.
  std::uint32_t write_value(const ValueTag& tag, std::span<std::byte> out) const;

  // Keys 0 to preloaded() - 1 are SET before the run, each with the value of this tag.
  [[nodiscard]] std::uint64_t preloaded() const { return preloaded_; }
  [[nodiscard]] ValueTag preloaded_tag(std::uint64_t key_id) const;

  [[nodiscard]] bool thesis() const { return thesis_; }
  [[nodiscard]] bool per_client() const { return per_client_; }

 private:
  std::uint64_t seed_;
  std::uint32_t clients_;
  bool thesis_;
  bool per_client_;
  std::uint64_t preloaded_ = 0;
  SizeSampler key_size_;
  SizeSampler value_size_;
};

// Calls each(key, value) for every key that the scenario wants SET before the run, in the order of their
// numbers. The bytes are valid during the call only.
template <typename Function>
void for_each_preloaded(const Scenario& scenario, std::uint32_t clients, Function&& each) {
  const KeySpace keys(scenario, clients);
  std::vector<std::byte> key(largest_key_bytes(scenario));
  std::vector<std::byte> value(largest_value_bytes(scenario));
  for (std::uint64_t id = 0; id < keys.preloaded(); ++id) {
    const std::uint32_t key_bytes = keys.write_key(id, key);
    const std::uint32_t value_bytes = keys.write_value(keys.preloaded_tag(id), value);
    each(std::span<const std::byte>(key).first(key_bytes),
         std::span<const std::byte>(value).first(value_bytes));
  }
}

}  // namespace rkv
