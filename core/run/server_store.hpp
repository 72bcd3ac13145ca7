// The store of a point's server, as the scenario asks for it.
#pragma once

#include <cstdint>
#include <memory>

#include "core/port/wait.hpp"
#include "core/scenario/scenario.hpp"
#include "core/store/store.hpp"

namespace rkv {

// Bytes of the exposed memory that a store of items takes; 0 for the others.
[[nodiscard]] std::uint64_t item_memory_bytes(const Scenario& scenario, std::uint32_t clients);

// Empty. What the port names outlives it. max_bytes and errors as of make_store (core/store/store.hpp).
[[nodiscard]] std::unique_ptr<Store> make_server_store(const Port& port, const Scenario& scenario,
                                                       std::uint32_t clients, std::uint64_t max_bytes);
// For simulations, as make_modelled_store.
[[nodiscard]] std::unique_ptr<Store> make_modelled_server_store(const Port& port, const Scenario& scenario,
                                                                std::uint32_t clients,
                                                                std::uint64_t max_bytes);

}  // namespace rkv
