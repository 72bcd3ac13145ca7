// The cuckoo table's growth within its limit.
#include <catch2/catch.hpp>
#include <cstring>

#include "core/store/cuckoo_store.hpp"
#include "tests/store/store_helpers.hpp"
#include "tests/support/test_runtime.hpp"

using namespace rkv;
using namespace rkv::test;

namespace {

std::array<std::byte, 8> numbered(std::uint64_t number) {
  std::array<std::byte, 8> key{};
  std::memcpy(key.data(), &number, sizeof(number));
  return key;
}

// SETs keys 0.. to `count`, each to its own bytes, until one is refused. How many were stored.
std::uint64_t fill(Store& store, std::uint64_t count, Work& work) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto key = numbered(i);
    if (store.set(key, key, work) != ResponseCode::ok) {
      return i;
    }
  }
  return count;
}

bool holds(Store& store, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto key = numbered(i);
    std::array<std::byte, 8> value{};
    Work work;
    if (store.get(key, value, work).code != ResponseCode::ok || value != key) {
      return false;
    }
  }
  return true;
}

constexpr std::uint64_t first_table_slots = 65'536 * 4;

}  // namespace

TEST_CASE("The cuckoo table grows beyond its first size") {
  TestRuntime runtime;
  CuckooStore store(runtime, 64U << 20);
  Work work;
  CHECK(fill(store, 300'000, work) == 300'000);
  CHECK(store.entries() == 300'000);
  CHECK(work.entries_walked == 300'000);
  CHECK(work.bytes_copied == 300'000 * 16);
  CHECK(holds(store, 300'000));
}

TEST_CASE("The cuckoo table does not double beyond max_bytes") {
  TestRuntime runtime;
  CuckooStore store(runtime,
                    20U << 20);  // room for 340'000 entries beside the first table, but not for a second
  Work work;
  const std::uint64_t stored = fill(store, 300'000, work);
  CHECK(stored > first_table_slots / 2);
  CHECK(stored <= first_table_slots);
  CHECK(store.entries() == stored);
  CHECK(work.working_set_bytes <= 20U << 20);
  CHECK(holds(store, stored));
  store.reset();
  CHECK(fill(store, 1'000, work) == 1'000);
}
