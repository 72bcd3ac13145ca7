#include "core/exchange/slots/pointer_cache.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>

#include "tests/store/store_helpers.hpp"

using namespace rkv;
using rkv::test::bytes;

TEST_CASE("A cache of pointers gives back what it was last told, or nothing", "[property]") {
  std::mt19937_64 random(3);
  PointerCache cache(64);
  CHECK(cache.bytes() >= 64 * (sizeof(FrameWord) + sizeof(std::uint32_t)));
  std::map<std::string, FrameWord> told;
  std::uint64_t found = 0;
  for (FrameWord word = 1; word < 20'000; ++word) {
    const std::string key = std::to_string(random() % 200);
    switch (random() % 4) {
      case 0:
        cache.forget(bytes(key));
        told.erase(key);
        CHECK_FALSE(cache.find(bytes(key)));
        break;
      case 1:
        cache.remember(bytes(key), {.offset = static_cast<std::uint32_t>(word * 8), .word = word});
        told[key] = word;
        CHECK(cache.find(bytes(key)));
        break;
      default:
        if (const auto pointer = cache.find(bytes(key))) {
          ++found;
          CHECK(pointer->word == told.at(key));
          CHECK(pointer->offset == pointer->word * 8);
        }
    }
  }
  CHECK(found > 1'000);
}

TEST_CASE("The latest key drives out the one in its place, and forgets no other than its own") {
  PointerCache cache(1);
  cache.remember(bytes("a"), {.offset = 8, .word = 1});
  cache.forget(bytes("b"));
  REQUIRE(cache.find(bytes("a")));
  CHECK_FALSE(cache.find(bytes("b")));
  cache.remember(bytes("b"), {.offset = 16, .word = 2});
  CHECK_FALSE(cache.find(bytes("a")));
  CHECK(cache.find(bytes("b"))->offset == 16);
}

TEST_CASE("Without places nothing is remembered") {
  PointerCache cache(0);
  cache.remember(bytes("a"), {.offset = 8, .word = 1});
  cache.forget(bytes("a"));
  CHECK_FALSE(cache.find(bytes("a")));
  CHECK(cache.bytes() == 0);
}
