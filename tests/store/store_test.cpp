// What every store must do, whichever table it is.
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>

#include "core/error.hpp"
#include "tests/store/any_store.hpp"
#include "tests/store/store_helpers.hpp"
#include "tests/support/test_runtime.hpp"

using namespace rkv;
using namespace rkv::test;

namespace {

constexpr std::uint64_t plenty_bytes = 64U << 20;

std::unique_ptr<Store> make(StoreOptions::Kind kind, Runtime& runtime, std::uint64_t max_bytes,
                            std::uint32_t item_bytes = 1000) {
  StoreOptions options;
  options.kind = kind;
  options.buckets = 16;
  return make_any_store(options, runtime, max_bytes, item_bytes);
}

StoreOptions::Kind each_kind() {
  return GENERATE(from_range(store_kinds));
}

}  // namespace

TEST_CASE("A store answers GET, SET, DEL and RESET") {
  TestRuntime runtime;
  const auto store = make(each_kind(), runtime, plenty_bytes);

  CHECK_FALSE(get(*store, "key"));
  CHECK(del(*store, "key") == ResponseCode::key_error);
  CHECK(set(*store, "key", "value") == ResponseCode::ok);
  CHECK(get(*store, "key") == "value");
  CHECK_FALSE(get(*store, "ke"));
  CHECK_FALSE(get(*store, "key2"));

  CHECK(set(*store, "key", "a longer value") == ResponseCode::ok);
  CHECK(get(*store, "key") == "a longer value");
  CHECK(set(*store, "key", "") == ResponseCode::ok);
  CHECK(get(*store, "key") == "");
  CHECK(set(*store, "", "of the empty key") == ResponseCode::ok);
  CHECK(get(*store, "") == "of the empty key");
  CHECK(set(*store, std::string("k\0y", 3), "binary") == ResponseCode::ok);
  CHECK_FALSE(get(*store, "k"));
  CHECK(store->entries() == 3);

  CHECK(del(*store, "key") == ResponseCode::ok);
  CHECK_FALSE(get(*store, "key"));
  CHECK(del(*store, "key") == ResponseCode::key_error);
  CHECK(store->entries() == 2);

  store->reset();
  CHECK(store->entries() == 0);
  CHECK_FALSE(get(*store, ""));
  CHECK(set(*store, "key", "again") == ResponseCode::ok);
  CHECK(get(*store, "key") == "again");
}

TEST_CASE("A value longer than the room for it is not copied") {
  TestRuntime runtime;
  const auto store = make(each_kind(), runtime, plenty_bytes);
  REQUIRE(set(*store, "key", "value") == ResponseCode::ok);

  std::array<std::byte, 5> out{};
  Work work;
  const GetResult short_by_one = store->get(bytes("key"), std::span(out).first(4), work);
  CHECK(short_by_one.code == ResponseCode::store_error);
  CHECK(short_by_one.value_bytes == 0);
  CHECK(out == std::array<std::byte, 5>{});
  CHECK(work.bytes_copied == 0);

  const GetResult fits = store->get(bytes("key"), out, work);
  CHECK(fits.code == ResponseCode::ok);
  CHECK(fits.value_bytes == 5);
  CHECK(work.bytes_copied == 5);
}

TEST_CASE("Random operations give what std::map gives") {
  TestRuntime runtime;
  const auto store = make(each_kind(), runtime, plenty_bytes);
  std::map<std::string, std::string> model;
  std::mt19937_64 random(7);
  const auto below = [&random](std::uint64_t bound) { return random() % bound; };

  for (int i = 0; i < 20'000; ++i) {
    const std::string key = "key " + std::to_string(below(200)) + std::string(below(2) * 40, 'k');
    switch (below(4)) {
      case 0: {
        const std::string value(below(300), static_cast<char>('a' + below(26)));
        REQUIRE(set(*store, key, value) == ResponseCode::ok);
        model[key] = value;
        break;
      }
      case 1:
        REQUIRE(del(*store, key) == (model.erase(key) == 1 ? ResponseCode::ok : ResponseCode::key_error));
        break;
      default: {
        const auto found = model.find(key);
        REQUIRE(get(*store, key) ==
                (found == model.end() ? std::nullopt : std::optional<std::string>(found->second)));
      }
    }
    REQUIRE(store->entries() == model.size());
  }
}

TEST_CASE("A SET beyond max_bytes answers STORE_ERROR and changes nothing") {
  TestRuntime runtime;
  constexpr std::uint64_t max_bytes = 10U << 20;
  const auto store = make(each_kind(), runtime, max_bytes, (1U << 20) + 10);
  const std::string megabyte(1U << 20, 'x');

  int stored = 0;
  while (set(*store, "key " + std::to_string(stored), megabyte) == ResponseCode::ok) {
    ++stored;
    REQUIRE(stored <= 10);
  }
  REQUIRE(stored >= 1);
  CHECK(store->entries() == static_cast<std::uint64_t>(stored));
  CHECK_FALSE(get(*store, "key " + std::to_string(stored)));
  CHECK(set(*store, "key 0", megabyte + megabyte) == ResponseCode::store_error);
  std::vector<std::byte> out(megabyte.size());
  Work work;
  CHECK(store->get(bytes("key 0"), out, work).value_bytes == megabyte.size());
  CHECK(work.working_set_bytes <= max_bytes);
  CHECK(work.working_set_bytes > megabyte.size() * static_cast<std::uint64_t>(stored));

  CHECK(del(*store, "key 0") == ResponseCode::ok);
  CHECK(set(*store, "key 0", megabyte) == ResponseCode::ok);
  store->reset();
  CHECK(set(*store, "key", megabyte) == ResponseCode::ok);
}

TEST_CASE("Setting and deleting for ever takes no more memory") {
  TestRuntime runtime;
  const auto store = make(each_kind(), runtime, 10U << 20, 10'010);
  const std::string value(10'000, 'v');
  for (int i = 0; i < 5'000; ++i) {
    const std::string key = "key " + std::to_string(i % 7);
    REQUIRE(set(*store, key, value) == ResponseCode::ok);
    REQUIRE(del(*store, key) == ResponseCode::ok);
  }
}

TEST_CASE("A store that cannot hold even its empty table is refused") {
  TestRuntime runtime;
  CHECK_THROWS_AS(make(each_kind(), runtime, 1'000), InputError);
}
