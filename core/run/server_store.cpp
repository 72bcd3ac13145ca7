#include "core/run/server_store.hpp"

#include <limits>

#include "core/store/item_store.hpp"

namespace rkv {
namespace {

bool has_items(const Scenario& scenario) {
  return scenario.store.kind == StoreOptions::Kind::items;
}

// The keys that there may be at once.
std::uint64_t key_count(const Scenario& scenario, std::uint32_t clients) {
  const std::uint64_t keys = scenario.keys.count;
  if (scenario.keys.scope == KeyOptions::Scope::shared) return keys;
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  return keys > most / clients ? most : keys * clients;
}

std::uint32_t key_and_value_bytes(const Scenario& scenario) {
  return largest_key_bytes(scenario) + largest_value_bytes(scenario);
}

std::unique_ptr<Store> make_item_store(const Port& port, const Scenario& scenario, std::uint32_t clients,
                                       std::uint64_t max_bytes) {
  return std::make_unique<ItemStore>(
      *port.runtime, port.device->make_exposed_region(item_memory_bytes(scenario, clients), PeerAccess::read),
      key_and_value_bytes(scenario), max_bytes);
}

}  // namespace

std::uint64_t item_memory_bytes(const Scenario& scenario, std::uint32_t clients) {
  if (!has_items(scenario)) return 0;
  return ItemStore::memory_bytes(key_count(scenario, clients), key_and_value_bytes(scenario));
}

std::unique_ptr<Store> make_server_store(const Port& port, const Scenario& scenario, std::uint32_t clients,
                                         std::uint64_t max_bytes) {
  if (has_items(scenario)) return make_item_store(port, scenario, clients, max_bytes);
  return make_store(scenario.store, *port.runtime, max_bytes);
}

std::unique_ptr<Store> make_modelled_server_store(const Port& port, const Scenario& scenario,
                                                  std::uint32_t clients, std::uint64_t max_bytes) {
  if (has_items(scenario)) return make_item_store(port, scenario, clients, max_bytes);
  return make_modelled_store(scenario.store, *port.runtime, max_bytes);
}

}  // namespace rkv
