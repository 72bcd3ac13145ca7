// Items that are READ without their server: what is torn, outdated or somebody else's is never taken.
#include "core/store/item_region.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "tests/store/plain_memory.hpp"
#include "tests/store/store_helpers.hpp"
#include "tests/support/repetitions.hpp"
#include "tests/support/test_runtime.hpp"

using namespace rkv;
using namespace rkv::test;

namespace {

constexpr std::uint32_t limit_bytes = 60;

// A region, and what a thread needs to place items in it.
struct Items {
  explicit Items(std::uint32_t places)
      : memory(std::size_t{places} * ItemRegion::place_bytes(limit_bytes)),
        region(runtime, memory, limit_bytes) {}

  [[nodiscard]] std::optional<ItemPointer> place(std::string_view key, std::string_view value) {
    std::vector<std::byte> scratch(ItemRegion::place_bytes(limit_bytes));
    return region.place(bytes(key), bytes(value), scratch);
  }

  TestRuntime runtime;
  PlainMemory memory;
  ItemRegion region;
};

// What a READ brings: words, one after another in some order.
class Reader {
 public:
  enum class Order { ascending, descending, random };
  Reader(Items& items, Order order, std::uint64_t seed) : items_(items), order_(order), random_(seed) {}

  // pause() is called between words, with the number of words that were read.
  template <typename Pause>
  std::optional<std::string> read(const ItemPointer& pointer, std::string_view key, const Pause& pause) {
    const std::size_t words = item_bytes(pointer) / sizeof(std::uint64_t);
    std::vector<std::size_t> order(words);
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (order_ == Order::descending) std::reverse(order.begin(), order.end());
    if (order_ == Order::random) std::shuffle(order.begin(), order.end(), random_);
    std::vector<std::uint64_t> read(words);
    auto* const first =
        reinterpret_cast<std::uint64_t*>(items_.memory.bytes().subspan(pointer.offset).data());
    for (std::size_t i = 0; i < words; ++i) {
      pause(i);
      read[order[i]] = std::atomic_ref(first[order[i]]).load(std::memory_order_acquire);
    }
    const auto value = value_of_item(std::as_bytes(std::span(read)), pointer, bytes(key));
    if (!value) return std::nullopt;
    return std::string(reinterpret_cast<const char*>(value->data()), value->size());
  }
  std::optional<std::string> read(const ItemPointer& pointer, std::string_view key) {
    return read(pointer, key, [](std::size_t) {});
  }

 private:
  Items& items_;
  Order order_;
  std::mt19937_64 random_;
};

constexpr std::array orders{Reader::Order::ascending, Reader::Order::descending, Reader::Order::random};

}  // namespace

TEST_CASE("An item is read until it is retired") {
  Items items(2);
  Reader reader(items, Reader::Order::ascending, 1);
  const auto first = items.place("key", "value");
  REQUIRE(first);
  CHECK(reader.read(*first, "key") == "value");
  CHECK_FALSE(reader.read(*first, "kez"));
  CHECK_FALSE(reader.read(*first, "ke"));
  CHECK_FALSE(reader.read(*first, "keyvalueand"));

  const auto second = items.place("key", "");
  REQUIRE(second);
  items.region.retire(*first);
  CHECK_FALSE(reader.read(*first, "key"));
  CHECK(reader.read(*second, "key") == "");
}

TEST_CASE("What was never an item is not taken for one") {
  Items items(1);
  const auto pointer = items.place("key", "value");
  REQUIRE(pointer);
  const auto whole = std::span<const std::byte>(items.memory.bytes()).first(item_bytes(*pointer));
  REQUIRE(value_of_item(whole, *pointer, bytes("key")));
  CHECK_FALSE(value_of_item(whole, {}, bytes("key")));
  CHECK_FALSE(value_of_item(whole.first(whole.size() - 8), *pointer, bytes("key")));
  CHECK_FALSE(value_of_item({}, *pointer, bytes("key")));
  // A pointer that says more than there is, as a peer may.
  CHECK_FALSE(value_of_item(whole, {.offset = 0, .word = ~FrameWord{0}}, bytes("key")));
  // A whole frame that says that its key is longer than all of it, or has no room to say so.
  alignas(8) std::array<std::byte, 64> forged{};
  std::fill_n(forged.begin() + frame_header_bytes, 8, std::byte{0xff});
  for (const std::uint32_t message_bytes : {3U, 4U, 8U}) {
    const std::uint32_t length = seal_frame(forged, 1, message_bytes, FrameCheck::checksum);
    CHECK_FALSE(
        value_of_item(std::span(forged).first(length), {.word = frame_word(1, message_bytes)}, bytes("key")));
  }
}

TEST_CASE("Places are bounded, and the one that was retired first is used again first") {
  Items items(3);
  CHECK(items.region.places() == 3);
  std::array<ItemPointer, 3> placed;
  for (auto& pointer : placed) {
    const auto item = items.place("key", std::string(limit_bytes - 3, 'v'));
    REQUIRE(item);
    pointer = *item;
  }
  CHECK_FALSE(items.place("key", ""));
  items.region.retire(placed[1]);
  items.region.retire(placed[0]);
  CHECK_FALSE(items.place("key", std::string(2 * limit_bytes, 'v')));  // too long, and takes no place
  const auto fourth = items.place("key", "");
  const auto fifth = items.place("key", "");
  REQUIRE((fourth && fifth));
  CHECK(fourth->offset == placed[1].offset);
  CHECK(fifth->offset == placed[0].offset);
  CHECK_FALSE(items.place("key", ""));

  PlainMemory small(ItemRegion::place_bytes(limit_bytes) - 8);
  CHECK_THROWS_AS(ItemRegion(items.runtime, small, limit_bytes), InputError);
  CHECK_THROWS_AS(ItemRegion(items.runtime, items.memory, frame_message_limit_bytes), InputError);
}

TEST_CASE("A READ into which an update falls brings the whole old item or none") {
  const auto order = GENERATE(from_range(orders));
  // Shorter, as long, longer than the first; and of the same key and bytes.
  const std::string second = GENERATE(std::string("x"), std::string("other value"), std::string(50, 'x'),
                                      std::string("first value"));
  // What of the update has happened when the READ goes on: the guardian alone, or another item in the place.
  const bool recycled = GENERATE(false, true);
  const std::size_t words = frame_bytes(4 + 3 + 11) / sizeof(std::uint64_t);
  for (std::size_t at = 0; at < words; ++at) {
    Items items(1);
    Reader reader(items, order, at);
    const auto old = items.place("key", "first value");
    REQUIRE(old);
    std::optional<ItemPointer> next;
    const auto read = reader.read(*old, "key", [&](std::size_t words_read) {
      if (words_read != at) return;
      items.region.retire(*old);
      if (recycled) next = items.place("key", second);
    });
    CAPTURE(at, second, recycled);
    // The guardian was read before it was cleared: then the item may be taken, if it is whole.
    CHECK((!read || *read == "first value"));
    if (at == 0 || order == Reader::Order::descending) CHECK_FALSE(read);
    if (recycled) {
      REQUIRE(next);
      CHECK_FALSE(reader.read(*old, "key"));
      CHECK(reader.read(*next, "key") == second);
    }
  }
}

namespace {

// A table of few keys whose items are updated, and what GETs are judged by.
class RacedTable {
 public:
  static constexpr std::uint64_t keys = 4;
  explicit RacedTable(std::uint32_t writers) : items_(keys + writers) {
    for (std::uint64_t key = 0; key < keys; ++key) put(key);
  }

  static std::string key_text(std::uint64_t key) { return "key " + std::to_string(key); }
  // Tells its version and whether it is whole.
  static std::string value_text(std::uint64_t key, std::uint64_t version) {
    return std::to_string(version) + " " +
           std::string(1 + version % 30, static_cast<char>('a' + (key + version) % 26));
  }

  void put(std::uint64_t key) {
    Entry& entry = entries_[key];
    const std::lock_guard guard(entry.lock);
    const std::uint64_t version = ++entry.version;
    const auto placed = items_.place(key_text(key), value_text(key, version));
    if (!placed) {
      ++wrong_;  // there is a place for each writer
      return;
    }
    if (version > 1) items_.region.retire(entry.pointer);
    entry.pointer = *placed;
    raise(entry.known, version);  // the acknowledgement
  }

  // One that remembers in `pointer` where the item lay.
  void get(std::uint64_t key, ItemPointer& pointer, Reader& reader) {
    Entry& entry = entries_[key];
    const std::uint64_t oldest = entry.known.load();
    std::optional<std::string> value;
    while (!value) {
      if (pointer.word == 0) {
        const std::lock_guard guard(entry.lock);
        pointer = entry.pointer;
      }
      value = reader.read(pointer, key_text(key), [](std::size_t words_read) {
        if (words_read == 2) std::this_thread::yield();
      });
      if (!value) {
        ++refused_;
        pointer = {};
      }
    }
    const std::uint64_t version = std::stoull(*value);
    if (version < oldest || *value != value_text(key, version)) ++wrong_;
    raise(entry.known, version);
  }

  [[nodiscard]] Items& items() { return items_; }
  [[nodiscard]] std::uint64_t wrong() const { return wrong_; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  struct Entry {
    std::mutex lock;
    ItemPointer pointer;
    std::uint64_t version = 0;
    std::atomic<std::uint64_t> known{0};  // the newest that was acknowledged or returned
  };
  static void raise(std::atomic<std::uint64_t>& known, std::uint64_t version) {
    std::uint64_t before = known.load();
    while (before < version && !known.compare_exchange_weak(before, version)) {
    }
  }

  Items items_;
  std::array<Entry, keys> entries_;
  std::atomic<std::uint64_t> wrong_{0};
  std::atomic<std::uint64_t> refused_{0};
};

}  // namespace

TEST_CASE("Readers that race writers return no torn, recycled or outdated value") {
  constexpr std::uint32_t writers = 2;
  constexpr std::uint32_t readers = 3;
  const auto order = GENERATE(from_range(orders));
  TestRuntime runtime;
  RacedTable table(writers);
  std::atomic<std::uint32_t> reading{readers};
  std::vector<std::unique_ptr<Thread>> threads;
  for (std::uint32_t i = 0; i < writers; ++i) {
    threads.push_back(runtime.spawn({}, [&table, &reading, i] {
      std::mt19937_64 random(i);
      while (reading > 0) {
        table.put(random() % RacedTable::keys);
        if (random() % 4 == 0) std::this_thread::yield();  // so that some pointers last
      }
    }));
  }
  for (std::uint32_t i = 0; i < readers; ++i) {
    threads.push_back(runtime.spawn({}, [&table, &reading, order, i] {
      std::mt19937_64 random(100 + i);
      Reader reader(table.items(), order, i);
      std::array<ItemPointer, RacedTable::keys> pointers;
      for (std::uint64_t get = 0; get < repetitions(5'000); ++get) {
        const std::uint64_t key = random() % RacedTable::keys;
        table.get(key, pointers[key], reader);
      }
      --reading;
    }));
  }
  for (const auto& thread : threads) thread->join();
  CHECK(table.wrong() == 0);
  CHECK(table.refused() > 0);  // else nothing raced
}
