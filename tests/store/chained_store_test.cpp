// The chained table's counts, worked out by hand, and what its locks do.
#include <catch2/catch.hpp>
#include <deque>
#include <random>

#include "core/error.hpp"
#include "core/store/chained_store.hpp"
#include "core/store/djb2.hpp"
#include "tests/store/store_helpers.hpp"
#include "tests/support/test_runtime.hpp"

using namespace rkv;
using namespace rkv::test;

namespace {

constexpr std::uint64_t chained_bytes = 16U << 20;

struct Counts {
  std::uint64_t entries_walked;
  std::uint64_t bytes_copied;
  bool operator==(const Counts&) const = default;
};

Counts counts_of_set(Store& store, std::string_view key, std::string_view value) {
  Work work;
  REQUIRE(store.set(bytes(key), bytes(value), work) == ResponseCode::ok);
  return {work.entries_walked, work.bytes_copied};
}

Counts counts_of_get(Store& store, std::string_view key) {
  Work work;
  static_cast<void>(get(store, key, work));
  return {work.entries_walked, work.bytes_copied};
}

Counts counts_of_del(Store& store, std::string_view key) {
  Work work;
  static_cast<void>(store.del(bytes(key), work));
  return {work.entries_walked, work.bytes_copied};
}

}  // namespace

TEST_CASE("djb2 is the published hash") {
  CHECK(djb2(bytes("")) == 5381);
  CHECK(djb2(bytes("a")) == 177670);    // 5381 * 33 + 97
  CHECK(djb2(bytes("ab")) == 5863208);  // 177670 * 33 + 98
  CHECK(djb2(bytes("hello")) == 210714636441);
}

TEST_CASE("One chain: every operation walks from the newest entry to its key") {
  TestRuntime runtime;
  ChainedStore store(1, runtime, chained_bytes);

  CHECK(counts_of_set(store, "a", "12") == Counts{0, 3});
  CHECK(counts_of_set(store, "b", "34") == Counts{1, 3});
  CHECK(counts_of_set(store, "c", "56") == Counts{2, 3});  // the chain: c, b, a
  CHECK(counts_of_get(store, "c") == Counts{1, 2});
  CHECK(counts_of_get(store, "a") == Counts{3, 2});
  CHECK(counts_of_get(store, "missing") == Counts{3, 0});
  CHECK(counts_of_set(store, "b", "7") == Counts{2, 1});    // in place, and stays where it is
  CHECK(counts_of_set(store, "b", "789") == Counts{2, 3});  // a new block
  CHECK(counts_of_del(store, "missing") == Counts{3, 0});
  CHECK(counts_of_del(store, "b") == Counts{2, 0});  // c, a
  CHECK(counts_of_get(store, "a") == Counts{2, 2});
  CHECK(counts_of_set(store, "b", "0") == Counts{2, 2});  // b, c, a
  CHECK(counts_of_get(store, "a") == Counts{3, 2});
  CHECK(counts_of_get(store, "b") == Counts{1, 1});
}

TEST_CASE("Work is added to what was counted before; the working set is the store's bytes now") {
  TestRuntime runtime;
  ChainedStore store(1, runtime, chained_bytes);
  Work work;
  work.entries_walked = 10;
  work.bytes_copied = 20;
  store.set(bytes("key"), bytes("value"), work);
  const std::uint64_t one_entry = work.working_set_bytes;
  store.set(bytes("kex"), bytes("value"), work);
  CHECK(work.entries_walked == 11);
  CHECK(work.bytes_copied == 36);

  Work empty_work;
  ChainedStore empty(1, runtime, chained_bytes);
  static_cast<void>(get(empty, "key", empty_work));
  const std::uint64_t entry_bytes = one_entry - empty_work.working_set_bytes;
  CHECK(entry_bytes >= 64 + 8);  // a cache line, and the bytes of key and value
  CHECK(work.working_set_bytes == empty_work.working_set_bytes + 2 * entry_bytes);
}

TEST_CASE("Entries are walked as in a list that new keys are put in front of") {
  constexpr std::uint32_t buckets = 4;
  TestRuntime runtime;
  ChainedStore store(buckets, runtime, chained_bytes);
  std::array<std::deque<std::string>, buckets> chains;
  std::mt19937_64 random(3);

  for (int i = 0; i < 5'000; ++i) {
    const std::string key = "key " + std::to_string(random() % 60);
    std::deque<std::string>& chain = chains[djb2(bytes(key)) % buckets];
    const auto found = std::find(chain.begin(), chain.end(), key);
    const auto walked = static_cast<std::uint64_t>(found - chain.begin()) + (found == chain.end() ? 0U : 1U);
    Counts counts{};
    switch (random() % 3) {
      case 0:
        counts = counts_of_set(store, key, "v");
        if (found == chain.end()) {
          chain.push_front(key);
        }
        break;
      case 1:
        counts = counts_of_del(store, key);
        if (found != chain.end()) {
          chain.erase(found);
        }
        break;
      default:
        counts = counts_of_get(store, key);
    }
    REQUIRE(counts.entries_walked == walked);
  }
}

TEST_CASE("An entry's lock that is not obtained answers KEY_ERROR and changes nothing") {
  TestRuntime runtime;
  ChainedStore store(1, runtime, chained_bytes);
  REQUIRE(set(store, "key", "value") == ResponseCode::ok);

  runtime.refuse_try_lock = true;
  CHECK_FALSE(get(store, "key"));
  CHECK(set(store, "key", "other") == ResponseCode::key_error);
  CHECK(set(store, "key", "another, longer one") == ResponseCode::key_error);
  CHECK(del(store, "key") == ResponseCode::key_error);
  CHECK(set(store, "new", "needs no entry's lock") == ResponseCode::ok);

  runtime.refuse_try_lock = false;
  CHECK(get(store, "key") == "value");
  CHECK(store.entries() == 2);
}

TEST_CASE("An entry that is deleted and set again under a GET stays readable for that GET") {
  TestRuntime runtime;
  ChainedStore store(1, runtime, chained_bytes);
  REQUIRE(set(store, "key", "old value") == ResponseCode::ok);

  // The GET has found the entry and is about to lock it.
  runtime.before_try_lock_shared = [&] {
    runtime.before_try_lock_shared = nullptr;
    REQUIRE(del(store, "key") == ResponseCode::ok);
    REQUIRE(set(store, "key", "new value") == ResponseCode::ok);
    REQUIRE(del(store, "other") == ResponseCode::key_error);
  };
  CHECK(get(store, "key") == "old value");
  CHECK(get(store, "key") == "new value");
}

TEST_CASE("A deleted entry whose lock is still held is not freed") {
  // As in simulation, where an unlock takes effect after the call that asked for it.
  struct LateUnlock : TestRuntime {
    std::vector<TryLock*> pending;
    void unlock_shared(TryLock& lock) override { pending.push_back(&lock); }
    void unlock(TryLock& lock) override { pending.push_back(&lock); }
  };
  LateUnlock runtime;
  ChainedStore store(1, runtime, chained_bytes);
  REQUIRE(set(store, "key", "value") == ResponseCode::ok);
  REQUIRE(del(store, "key") == ResponseCode::ok);
  REQUIRE(set(store, "other", "would free it") == ResponseCode::ok);
  REQUIRE(runtime.pending.size() == 1);
  CHECK(runtime.pending.front()->state.load() == -1);
  runtime.pending.front()->state = 0;
  Work before;
  static_cast<void>(get(store, "nobody", before));
  REQUIRE(set(store, "other2", "would free it") == ResponseCode::ok);
  Work after;
  static_cast<void>(get(store, "nobody", after));
  CHECK(after.working_set_bytes < before.working_set_bytes + 64);  // one more entry, one freed
}

TEST_CASE("A chained store without buckets is refused") {
  TestRuntime runtime;
  CHECK_THROWS_AS(ChainedStore(0, runtime, chained_bytes), InputError);
}
