#include "core/workload/key_space.hpp"

#include "core/workload/key_text.hpp"
#include "core/workload/thesis_text.hpp"

namespace rkv {

KeySpace::KeySpace(const Scenario& scenario, std::uint32_t clients)
    : seed_(scenario.seed),
      clients_(clients),
      thesis_(scenario.keys.distribution == KeyOptions::Distribution::thesis),
      per_client_(scenario.keys.scope == KeyOptions::Scope::per_client),
      key_size_(scenario.key_size),
      value_size_(scenario.value_size) {
  if (scenario.keys.preload && !thesis_) {
    preloaded_ = scenario.keys.count * (per_client_ ? clients : 1);
  }
}

std::uint32_t KeySpace::write_key(std::uint64_t key_id, std::span<std::byte> out) const {
  if (thesis_) {
    return write_thesis_key(static_cast<std::uint32_t>(key_id % clients_),
                            static_cast<std::int64_t>(key_id / clients_) - 1, out);
  }
  Rng rng(seed_, key_id, Purpose::key_size);
  const std::uint32_t bytes = key_size_(rng);
  write_key_text(key_id, out.first(bytes));
  return bytes;
}

std::uint32_t KeySpace::write_value(const ValueTag& tag, std::span<std::byte> out) const {
  if (thesis_) {
    return write_thesis_value(static_cast<std::uint32_t>(tag.key_id % clients_),
                              static_cast<std::int64_t>(tag.key_id / clients_) - 1, out);
  }
  rkv::write_value(tag, out.first(tag.bytes));
  return tag.bytes;
}

ValueTag KeySpace::preloaded_tag(std::uint64_t key_id) const {
  Rng rng(seed_, key_id, Purpose::preload_size);
  return {key_id, 0, preload_writer, value_size_(rng)};
}

}  // namespace rkv
