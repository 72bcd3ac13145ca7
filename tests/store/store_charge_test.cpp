// Where a store charges its work: under which locks, and once.
#include <catch2/catch.hpp>
#include <random>

#include "tests/store/any_store.hpp"
#include "tests/store/store_helpers.hpp"
#include "tests/support/recording_runtime.hpp"

using namespace rkv;
using namespace rkv::test;

namespace {

using Events = std::vector<std::string>;

constexpr std::uint64_t max_bytes = 16U << 20;

std::unique_ptr<Store> one_bucket(StoreOptions::Kind kind, Runtime& runtime) {
  StoreOptions options;
  options.kind = kind;
  options.buckets = 1;
  return make_any_store(options, runtime, max_bytes);
}

}  // namespace

TEST_CASE("A chained store charges a walk before it tries the entry's lock and a copy before it unlocks") {
  RecordingRuntime runtime;
  const auto store = one_bucket(StoreOptions::Kind::chained, runtime);

  set(*store, "a", "12345");
  CHECK(runtime.take() == Events{"lock 0", "walk 0", "copy 6", "unlock 0"});
  set(*store, "b", "1");
  CHECK(runtime.take() == Events{"lock 0", "walk 1", "copy 2", "unlock 0"});

  get(*store, "a");
  CHECK(runtime.take() == Events{"walk 2", "try_lock_shared", "copy 5", "unlock_shared"});
  get(*store, "missing");
  CHECK(runtime.take() == Events{"walk 2"});

  set(*store, "a", "1234");
  CHECK(runtime.take() == Events{"lock 0", "walk 2", "try_lock", "copy 4", "unlock", "unlock 0"});
  set(*store, "a", "123456");  // into a new block, which is filled before the entry is locked
  CHECK(runtime.take() == Events{"lock 0", "walk 2", "copy 6", "try_lock", "unlock", "unlock 0"});

  del(*store, "missing");
  CHECK(runtime.take() == Events{"lock 0", "walk 2", "unlock 0"});
  del(*store, "a");
  CHECK(runtime.take() == Events{"lock 0", "walk 2", "try_lock", "unlock", "unlock 0"});
}

TEST_CASE("A chained store charges what it did for an entry that it could not lock") {
  RecordingRuntime runtime;
  const auto store = one_bucket(StoreOptions::Kind::chained, runtime);
  set(*store, "a", "123");
  runtime.refuse_try_lock = true;
  runtime.take();

  get(*store, "a");
  CHECK(runtime.take() == Events{"walk 1", "try_lock_shared"});
  set(*store, "a", "12");
  CHECK(runtime.take() == Events{"lock 0", "walk 1", "try_lock", "unlock 0"});
  set(*store, "a", "1234");
  CHECK(runtime.take() == Events{"lock 0", "walk 1", "copy 4", "try_lock", "unlock 0"});
  del(*store, "a");
  CHECK(runtime.take() == Events{"lock 0", "walk 1", "try_lock", "unlock 0"});
}

TEST_CASE("A cuckoo store charges one entry an operation and what it copied") {
  RecordingRuntime runtime;
  const auto store = one_bucket(StoreOptions::Kind::cuckoo, runtime);

  set(*store, "a", "12345");
  CHECK(runtime.take() == Events{"walk 1", "copy 6"});
  set(*store, "a", "1234");
  CHECK(runtime.take() == Events{"walk 1", "copy 4"});
  get(*store, "a");
  CHECK(runtime.take() == Events{"walk 1", "copy 4"});
  get(*store, "missing");
  CHECK(runtime.take() == Events{"walk 1"});
  del(*store, "a");
  CHECK(runtime.take() == Events{"walk 1"});
}

TEST_CASE("What a store charges is what it counts, by the bytes it holds at the time") {
  struct SummingRuntime : TestRuntime {
    Work sum;
    std::vector<std::uint64_t> working_sets_bytes;
    void charge(const Work& work) override {
      sum.entries_walked += work.entries_walked;
      sum.bytes_copied += work.bytes_copied;
      if (work.working_set_bytes != 0) working_sets_bytes.push_back(work.working_set_bytes);
    }
  };
  SummingRuntime runtime;
  const auto store = one_bucket(GENERATE(from_range(store_kinds)), runtime);
  std::mt19937_64 random(11);
  Work counted;
  std::vector<std::byte> out(100);
  for (int i = 0; i < 5'000; ++i) {
    const std::string key = "key " + std::to_string(random() % 40);
    runtime.refuse_try_lock = random() % 10 == 0;
    switch (random() % 3) {
      case 0:
        static_cast<void>(store->set(bytes(key), bytes(std::string(random() % 50, 'v')), counted));
        break;
      case 1:
        static_cast<void>(store->del(bytes(key), counted));
        break;
      default:
        static_cast<void>(store->get(bytes(key), out, counted));
    }
    REQUIRE(runtime.sum.entries_walked == counted.entries_walked);
    REQUIRE(runtime.sum.bytes_copied == counted.bytes_copied);
    REQUIRE(runtime.working_sets_bytes.size() == static_cast<std::size_t>(i) + 1);
    REQUIRE(runtime.working_sets_bytes.back() <= max_bytes);
  }
  CHECK(counted.bytes_copied > 0);
}
