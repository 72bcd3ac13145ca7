// Several threads on one store: values are never torn, acknowledged writes are never lost.
#include <atomic>
#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "tests/store/any_store.hpp"
#include "tests/store/store_helpers.hpp"
#include "tests/support/repetitions.hpp"
#include "tests/support/test_runtime.hpp"

using namespace rkv;
using namespace rkv::test;

namespace {

constexpr int threads = 4;
constexpr int operations = 8'000;

// A value that tells whether it is whole: its length and all its letters follow from its first.
std::string whole_value(std::uint64_t number) {
  const std::uint64_t letter = number % 26;
  return std::string(1 + letter * 7, static_cast<char>('a' + letter));
}

bool is_whole(const std::string& value) {
  return !value.empty() && value == whole_value(static_cast<std::uint64_t>(value.front() - 'a'));
}

// Sets, deletes and gets a few keys that all threads share, and checks that its own keys hold what it last
// wrote. The number of wrong answers.
int exercise(Store& store, int thread) {
  std::mt19937_64 random(static_cast<std::uint64_t>(thread));
  std::array<std::optional<std::string>, 4> own_values;
  int wrong = 0;
  for (int i = 0; i < operations; ++i) {
    const std::string shared_key = "shared " + std::to_string(random() % 8);
    const std::uint64_t own = random() % own_values.size();
    const std::string own_key = "own " + std::to_string(thread) + " " + std::to_string(own);
    const std::string value = whole_value(random());
    switch (random() % 4) {
      case 0:  // the shared key's lock may be another's: KEY_ERROR is then an answer
        set(store, shared_key, value);
        wrong += set(store, own_key, value) == ResponseCode::ok ? 0 : 1;
        own_values[own] = value;
        break;
      case 1:
        del(store, shared_key);
        wrong += (del(store, own_key) == ResponseCode::ok) == own_values[own].has_value() ? 0 : 1;
        own_values[own].reset();
        break;
      default:
        const std::optional<std::string> shared_value = get(store, shared_key);
        wrong += !shared_value || is_whole(*shared_value) ? 0 : 1;
        wrong += get(store, own_key) == own_values[own] ? 0 : 1;
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("Threads never read torn values nor lose acknowledged writes") {
  TestRuntime runtime;
  StoreOptions options;
  options.kind = GENERATE(from_range(store_kinds));
  options.buckets = 2;  // long chains: GETs pass many entries that are being deleted
  const auto store = make_any_store(options, runtime, 16U << 20);

  std::atomic<int> wrong{0};
  std::vector<std::unique_ptr<Thread>> workers;
  for (int i = 0; i < threads; ++i) {
    workers.push_back(runtime.spawn({}, [&store, &wrong, i] { wrong += exercise(*store, i); }));
  }
  for (const auto& worker : workers) {
    worker->join();
  }
  CHECK(wrong == 0);
}

TEST_CASE("Threads that fill a cuckoo table past a doubling lose nothing") {
  TestRuntime runtime;
  const auto store = make_store(StoreOptions{}, runtime, 128U << 20);
  constexpr int each = 70'000;
  std::atomic<int> refused{0};
  std::vector<std::unique_ptr<Thread>> workers;
  for (int thread = 0; thread < threads; ++thread) {
    workers.push_back(runtime.spawn({}, [&store, &refused, thread] {
      for (int i = 0; i < each; ++i) {
        const std::string key = std::to_string(thread * each + i);
        refused += set(*store, key, key) == ResponseCode::ok ? 0 : 1;
      }
    }));
  }
  for (const auto& worker : workers) {
    worker->join();
  }
  CHECK(refused == 0);
  CHECK(store->entries() == threads * each);
  int lost = 0;
  for (int i = 0; i < threads * each; ++i) {
    lost += get(*store, std::to_string(i)) == std::to_string(i) ? 0 : 1;
  }
  CHECK(lost == 0);
}

TEST_CASE("A reset may come while other calls are under way") {
  TestRuntime runtime;
  StoreOptions options;
  options.kind = GENERATE(from_range(store_kinds));
  options.buckets = 2;
  const auto store = make_any_store(options, runtime, 16U << 20);

  std::atomic<int> wrong{0};
  std::vector<std::unique_ptr<Thread>> workers;
  for (int thread = 0; thread < 2; ++thread) {
    workers.push_back(runtime.spawn({}, [&store, &wrong, thread] {
      std::mt19937_64 random(static_cast<std::uint64_t>(thread));
      for (int i = 0; i < operations; ++i) {
        const std::string key = std::to_string(random() % 64);
        set(*store, key, whole_value(random()));
        const std::optional<std::string> value = get(*store, key);
        wrong += !value || is_whole(*value) ? 0 : 1;
      }
    }));
  }
  workers.push_back(runtime.spawn({}, [&store] {
    for (std::uint64_t i = 0; i < repetitions(200); ++i) store->reset();
  }));
  for (const auto& worker : workers) {
    worker->join();
  }
  CHECK(wrong == 0);
  store->reset();
  CHECK(store->entries() == 0);
  CHECK_FALSE(get(*store, "1").has_value());
}
