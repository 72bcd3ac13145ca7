// A store whose items are READ by those who were told where they lie.
#include "core/store/item_store.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "tests/store/plain_memory.hpp"
#include "tests/store/store_helpers.hpp"
#include "tests/support/repetitions.hpp"
#include "tests/support/test_runtime.hpp"

using namespace rkv;
using namespace rkv::test;

namespace {

constexpr std::uint32_t item_limit_bytes = 100;
constexpr std::uint64_t plenty_bytes = 1U << 20;

// A store, and what clients see of it.
class LocatedStore {
 public:
  explicit LocatedStore(std::uint64_t items, std::uint64_t max_bytes = plenty_bytes)
      : LocatedStore(std::make_unique<PlainMemory>(ItemStore::memory_bytes(items, item_limit_bytes)),
                     max_bytes) {}
  explicit LocatedStore(std::unique_ptr<PlainMemory> memory, std::uint64_t max_bytes = plenty_bytes)
      : memory_(memory->bytes()), store_(runtime_, std::move(memory), item_limit_bytes, max_bytes) {}

  [[nodiscard]] std::optional<ItemPointer> locate(std::string_view key) {
    std::array<std::byte, item_pointer_bytes> out{};
    Work work;
    const GetResult result = store_.locate(bytes(key), out, work);
    if (result.code != ResponseCode::ok) return std::nullopt;
    return read_item_pointer(std::span(out).first(result.value_bytes));
  }
  // As a READ of memory that is written meanwhile.
  [[nodiscard]] std::optional<std::string> read(const ItemPointer& pointer, std::string_view key) const {
    std::vector<std::uint64_t> words(item_bytes(pointer) / sizeof(std::uint64_t));
    auto* const first = reinterpret_cast<std::uint64_t*>(memory_.subspan(pointer.offset).data());
    for (std::size_t i = 0; i < words.size(); ++i) {
      words[i] = std::atomic_ref(first[i]).load(std::memory_order_acquire);
    }
    const auto value = value_of_item(std::as_bytes(std::span(words)), pointer, bytes(key));
    if (!value) return std::nullopt;
    return std::string(reinterpret_cast<const char*>(value->data()), value->size());
  }

  TestRuntime& runtime() { return runtime_; }
  ItemStore& store() { return store_; }

 private:
  TestRuntime runtime_;
  const std::span<std::byte> memory_;
  ItemStore store_;
};

}  // namespace

TEST_CASE("Who is told where an item lies READs its value until it is replaced") {
  LocatedStore items(10);
  CHECK_FALSE(items.locate("key"));
  REQUIRE(set(items.store(), "key", "value") == ResponseCode::ok);
  REQUIRE(set(items.store(), "other", "another value") == ResponseCode::ok);
  const auto first = items.locate("key");
  REQUIRE(first);
  CHECK(items.read(*first, "key") == "value");
  CHECK_FALSE(items.read(*first, "other"));

  REQUIRE(set(items.store(), "key", "value") == ResponseCode::ok);  // the same, and yet another item
  CHECK_FALSE(items.read(*first, "key"));
  const auto second = items.locate("key");
  REQUIRE(second);
  CHECK(items.read(*second, "key") == "value");

  REQUIRE(del(items.store(), "key") == ResponseCode::ok);
  CHECK_FALSE(items.read(*second, "key"));
  CHECK_FALSE(items.locate("key"));

  const auto other = items.locate("other");
  REQUIRE(other);
  items.store().reset();
  CHECK_FALSE(items.read(*other, "other"));
}

TEST_CASE("A pointer that has no room, or is cut short, is none") {
  LocatedStore items(10);
  REQUIRE(set(items.store(), "key", "value") == ResponseCode::ok);
  std::array<std::byte, item_pointer_bytes> out{};
  Work work;
  CHECK(items.store().locate(bytes("key"), std::span(out).first(11), work).code == ResponseCode::store_error);
  CHECK(items.store().locate(bytes("key"), out, work).value_bytes == item_pointer_bytes);
  CHECK(read_item_pointer(out));
  CHECK_FALSE(read_item_pointer(std::span(out).first(11)));
  CHECK_FALSE(read_item_pointer({}));
  out = {};
  CHECK_FALSE(read_item_pointer(out));
}

TEST_CASE("Tables without items say where none lies") {
  TestRuntime runtime;
  StoreOptions options;
  options.kind = GENERATE(StoreOptions::Kind::chained, StoreOptions::Kind::cuckoo);
  const auto store = make_store(options, runtime, 16U << 20);
  REQUIRE(set(*store, "key", "value") == ResponseCode::ok);
  std::array<std::byte, 64> out{};
  Work work;
  CHECK(store->locate(bytes("key"), out, work).code == ResponseCode::parsing_error);
}

TEST_CASE("Keys beyond what there is room for, and items that are too long, are refused and change nothing") {
  constexpr std::uint32_t place_bytes = frame_bytes(item_limit_bytes + sizeof(ItemKeyLength));
  LocatedStore items(std::make_unique<PlainMemory>(3 * place_bytes));
  CHECK(set(items.store(), "long", std::string(item_limit_bytes - 3, 'v')) == ResponseCode::store_error);
  CHECK(items.store().entries() == 0);
  for (const char* const key : {"a", "b", "c"}) REQUIRE(set(items.store(), key, key) == ResponseCode::ok);
  CHECK(set(items.store(), "d", "d") == ResponseCode::store_error);
  CHECK(set(items.store(), "a", "new") == ResponseCode::store_error);  // would lie beside the old one
  CHECK(get(items.store(), "a") == "a");
  CHECK(items.store().entries() == 3);
  REQUIRE(del(items.store(), "b") == ResponseCode::ok);
  CHECK(set(items.store(), "a", "new") == ResponseCode::ok);
  CHECK(get(items.store(), "a") == "new");
}

TEST_CASE("As many items as were asked for can all be replaced, again and again") {
  constexpr int keys = 1000;
  LocatedStore items(keys);
  for (int round = 0; round < 20; ++round) {
    for (int key = 0; key < keys; ++key) {
      REQUIRE(set(items.store(), std::to_string(key), std::to_string(round)) == ResponseCode::ok);
    }
  }
  CHECK(get(items.store(), "999") == "19");
}

TEST_CASE("Keys are counted against max_bytes, too") {
  constexpr std::uint64_t memory_bytes = 100'000;
  LocatedStore items(std::make_unique<PlainMemory>(memory_bytes), memory_bytes + 1'000);
  int stored = 0;
  while (set(items.store(), std::to_string(stored), "") == ResponseCode::ok) REQUIRE(++stored < 100);
  CHECK(stored >= 10);
  REQUIRE(del(items.store(), "3") == ResponseCode::ok);
  CHECK(set(items.store(), "3", "") == ResponseCode::ok);
  items.store().reset();
  CHECK(set(items.store(), "another", "") == ResponseCode::ok);
}

TEST_CASE("Clients that READ where they were told race writers, and no value is torn, recycled or outdated") {
  constexpr std::uint32_t writers = 2;
  constexpr std::uint32_t readers = 2;
  constexpr std::uint64_t keys = 4;
  // Each key has one writer, so that it knows the order of its versions.
  LocatedStore items(keys);
  std::array<std::atomic<std::uint64_t>, keys> acknowledged{};
  const auto key_text = [](std::uint64_t key) { return "key " + std::to_string(key); };
  const auto value_text = [](std::uint64_t key, std::uint64_t version) {
    return std::to_string(version) + " " +
           std::string(1 + version % 30, static_cast<char>('a' + (key + version) % 26));
  };
  for (std::uint64_t key = 0; key < keys; ++key) {
    REQUIRE(set(items.store(), key_text(key), value_text(key, 0)) == ResponseCode::ok);
  }
  std::atomic<std::uint32_t> reading{readers};
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<std::uint64_t> stale{0};
  std::vector<std::unique_ptr<Thread>> threads;
  for (std::uint32_t writer = 0; writer < writers; ++writer) {
    threads.push_back(items.runtime().spawn({}, [&, writer] {
      std::mt19937_64 random(writer);
      std::array<std::uint64_t, keys> versions{};
      while (reading > 0) {
        const std::uint64_t key = random() % (keys / writers) * writers + writer;
        const std::uint64_t version = ++versions[key];
        if (set(items.store(), key_text(key), value_text(key, version)) != ResponseCode::ok) ++wrong;
        acknowledged[key] = version;
        if (random() % 4 == 0) std::this_thread::yield();
      }
    }));
  }
  for (std::uint32_t reader = 0; reader < readers; ++reader) {
    threads.push_back(items.runtime().spawn({}, [&, reader] {
      std::mt19937_64 random(100 + reader);
      std::array<std::optional<ItemPointer>, keys> remembered;
      std::array<std::uint64_t, keys> seen{};
      // However late the writers get a CPU.
      for (std::uint64_t n = 0; n < repetitions(5'000) || stale < 100; ++n) {
        const std::uint64_t key = random() % keys;
        const std::uint64_t oldest = std::max(acknowledged[key].load(), seen[key]);
        std::optional<std::string> value;
        while (!value) {
          if (!remembered[key]) remembered[key] = items.locate(key_text(key));
          if (!remembered[key]) {
            ++wrong;
            break;
          }
          value = items.read(*remembered[key], key_text(key));
          if (value) break;
          ++stale;
          remembered[key].reset();
        }
        if (!value) continue;
        seen[key] = std::stoull(*value);
        if (seen[key] < oldest || *value != value_text(key, seen[key])) ++wrong;
      }
      --reading;
    }));
  }
  for (const auto& thread : threads) thread->join();
  CHECK(wrong == 0);
}
