#include "core/workload/value_text.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "core/workload/key_text.hpp"

namespace {

std::vector<std::byte> value_of(const rkv::ValueTag& tag) {
  std::vector<std::byte> value(tag.bytes);
  rkv::write_value(tag, value);
  return value;
}

}  // namespace

TEST_CASE("a value tells its key, writer, version and size") {
  for (const std::uint32_t bytes : {24U, 25U, 31U, 32U, 100U, 4096U}) {
    const rkv::ValueTag tag{12345678901, 42, 7, bytes};
    const std::vector<std::byte> value = value_of(tag);
    CHECK(rkv::read_value_tag(value) == tag);
    CHECK(rkv::is_value(tag, value));
    CHECK_FALSE(rkv::is_value({tag.key_id + 1, tag.version, tag.writer, bytes}, value));
    CHECK_FALSE(rkv::is_value({tag.key_id, tag.version + 1, tag.writer, bytes}, value));
    CHECK_FALSE(rkv::is_value({tag.key_id, tag.version, tag.writer + 1, bytes}, value));
    CHECK_FALSE(rkv::is_value({tag.key_id, tag.version, tag.writer, bytes + 1}, value));
  }
}

TEST_CASE("any changed byte of a value is found") {
  const rkv::ValueTag tag{9, 3, 1, 61};
  for (std::size_t i = 0; i < tag.bytes; ++i) {
    std::vector<std::byte> value = value_of(tag);
    value[i] ^= std::byte{1};
    INFO("byte " << i);
    CHECK_FALSE(rkv::is_value(tag, value));
  }
}

TEST_CASE("a value torn between two versions is found") {
  const std::vector<std::byte> before = value_of({9, 3, 1, 200});
  const std::vector<std::byte> after = value_of({9, 4, 1, 200});
  std::vector<std::byte> torn = after;
  std::copy(before.begin() + 100, before.end(), torn.begin() + 100);
  CHECK_FALSE(rkv::is_value({9, 4, 1, 200}, torn));
}

TEST_CASE("a short value tells its key only") {
  for (const std::uint32_t bytes : {1U, 8U, 23U}) {
    const std::vector<std::byte> value = value_of({5, 1, 2, bytes});
    CHECK(value == value_of({5, 99, 3, bytes}));
    CHECK(value != value_of({6, 1, 2, bytes}));
  }
  CHECK(rkv::is_value({5, 1, 2, 0}, {}));
}

TEST_CASE("keys of one size differ") {
  CHECK(rkv::key_text_bytes(31) == 1);
  CHECK(rkv::key_text_bytes(32) == 2);
  CHECK(rkv::key_text_bytes(0xffffffffffffffff) == 13);
  std::vector<std::vector<std::byte>> keys;
  for (const std::uint64_t id : {0ULL, 1ULL, 10ULL, 31ULL, 32ULL, 320ULL, 1'000'000'000ULL}) {
    std::vector<std::byte> key(7);
    rkv::write_key_text(id, key);
    for (const auto& other : keys) {
      CHECK(key != other);
    }
    keys.push_back(key);
  }
}
