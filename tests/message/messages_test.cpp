#include "core/message/messages.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <string>
#include <vector>

using namespace rkv;

namespace {

MessageOptions options(MessageOptions::Format format) {
  return {.format = format, .key_capacity_bytes = 64, .value_capacity_bytes = 256};
}
const MessageFormat thesis(options(MessageOptions::Format::fixed));
const MessageFormat compact(options(MessageOptions::Format::compact));

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}
std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("the fixed format has the thesis's sizes, 352 and 272 bytes") {
  REQUIRE(thesis.largest_request_bytes() == 352);
  REQUIRE(thesis.largest_response_bytes() == 272);
  std::vector<std::byte> buffer(352, std::byte{0xff});
  REQUIRE(thesis.write_request(buffer, {.client = 1, .slot = 0, .sequence = 1}, Method::get, bytes_of("k"),
                               {}) == 352);
  REQUIRE(buffer[33] == std::byte{0});  // padded, not whatever was there
  REQUIRE(thesis.write_response(buffer, {}, ResponseCode::ok, 5) == 272);
}

TEST_CASE("a compact request is laid out as documented, little-endian") {
  std::vector<std::byte> buffer(compact.largest_request_bytes());
  const std::uint32_t length =
      compact.write_request(buffer, {.client = 0x01020304, .slot = 0x0506, .sequence = 0x0a0b0c0d0e0f},
                            Method::set, bytes_of("key"), bytes_of("value"));
  REQUIRE(length == 32 + 3 + 5);
  const unsigned char expected[] = {
      'R', 'K', 'V', '1', 4, 3, 2, 1, 0x0f, 0x0e, 0x0d, 0x0c, 0x0b, 0x0a, 0,   0,   3,   0,   0,   0,
      5,   0,   0,   0,   6, 5, 2, 0, 0,    0,    0,    0,    'k',  'e',  'y', 'v', 'a', 'l', 'u', 'e'};
  REQUIRE(std::memcmp(buffer.data(), expected, sizeof expected) == 0);
}

TEST_CASE("what is written is read back", "[property]") {
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same every time
  for (const MessageFormat* format : {&thesis, &compact}) {
    for (int round = 0; round < 500; ++round) {
      const std::string key(random() % 65, static_cast<char>('a' + random() % 26));
      const std::string value(random() % 257, static_cast<char>('A' + random() % 26));
      const RequestId id{.client = static_cast<std::uint32_t>(random()),
                         .slot = static_cast<std::uint16_t>(random()),
                         .sequence = (std::uint64_t{random()} << 16 | random()) % sequence_limit};
      const auto method = static_cast<Method>(1 + random() % 6);
      std::vector<std::byte> buffer(format->largest_request_bytes());
      const std::uint32_t length = format->write_request(buffer, id, method, bytes_of(key), bytes_of(value));
      REQUIRE(format->request_length(buffer) == length);
      RequestView request;
      REQUIRE(format->parse_request(std::span(buffer).first(length), request) == ParseError::none);
      CHECK(request.id.client == id.client);
      CHECK(request.id.slot == id.slot);
      CHECK(request.id.sequence == id.sequence);
      CHECK(request.method == method);
      CHECK(text_of(request.key) == key);
      CHECK(text_of(request.value) == value);

      std::vector<std::byte> answer(format->largest_response_bytes());
      std::memcpy(format->response_value(answer).data(), value.data(), value.size());
      const std::uint32_t answered = format->write_response(answer, id, ResponseCode::key_error,
                                                            static_cast<std::uint32_t>(value.size()));
      REQUIRE(format->response_length(answer) == answered);
      ResponseView response;
      REQUIRE(format->parse_response(std::span(answer).first(answered), response));
      CHECK(response.slot == id.slot);
      CHECK(response.sequence == id.sequence);
      CHECK(response.code == ResponseCode::key_error);
      CHECK(text_of(response.value) == value);
    }
  }
}

TEST_CASE("a request's method can be changed, and nothing else is") {
  for (const MessageFormat* format : {&thesis, &compact}) {
    std::vector<std::byte> buffer(format->largest_request_bytes());
    std::vector<std::byte> other(format->largest_request_bytes());
    const RequestId id{.client = 7, .slot = 1, .sequence = 9};
    const std::uint32_t length = format->write_request(buffer, id, Method::get, bytes_of("key"), {});
    CHECK(format->write_request(other, id, Method::locate, bytes_of("key"), {}) == length);
    MessageFormat::change_method(buffer, Method::locate);
    CHECK(buffer == other);
  }
}

TEST_CASE("a message whose lengths do not add up is malformed, one that is not ours unreadable") {
  std::vector<std::byte> buffer(compact.largest_request_bytes());
  const std::uint32_t length = compact.write_request(buffer, {.client = 7, .slot = 1, .sequence = 9},
                                                     Method::get, bytes_of("key"), {});
  RequestView request;
  SECTION("cut short in the header") {
    REQUIRE(compact.parse_request(std::span(buffer).first(31), request) == ParseError::unreadable);
    REQUIRE(compact.request_length(std::span(buffer).first(31)) == 0U);
  }
  SECTION("cut short in the key: its sender is still known") {
    REQUIRE(compact.parse_request(std::span(buffer).first(length - 1), request) == ParseError::malformed);
    REQUIRE(request.id.client == 7);
  }
  SECTION("longer than it says") {
    REQUIRE(compact.parse_request(std::span(buffer).first(length + 1), request) == ParseError::malformed);
  }
  SECTION("a key longer than any may be") {
    buffer[16] = std::byte{65};
    REQUIRE(compact.parse_request(buffer, request) == ParseError::malformed);
    REQUIRE_FALSE(compact.request_length(buffer).has_value());
  }
  SECTION("lengths whose sum wraps around") {
    std::memset(buffer.data() + 16, 0xff, 8);
    REQUIRE(compact.parse_request(buffer, request) == ParseError::malformed);
  }
  SECTION("an unknown method") {
    buffer[26] = std::byte{7};
    REQUIRE(compact.parse_request(std::span(buffer).first(length), request) == ParseError::malformed);
  }
  SECTION("another magic") {
    buffer[0] = std::byte{'X'};
    REQUIRE(compact.parse_request(std::span(buffer).first(length), request) == ParseError::unreadable);
    REQUIRE_FALSE(compact.request_length(buffer).has_value());
  }
  SECTION("a sequence beyond 48 bits") {
    buffer[14] = std::byte{1};
    REQUIRE(compact.parse_request(std::span(buffer).first(length), request) == ParseError::unreadable);
  }
}

TEST_CASE("random bytes never make a parser read past them", "[property]") {
  std::mt19937 random(2);  // NOLINT(cert-msc51-cpp)
  std::vector<std::byte> start(compact.largest_request_bytes());
  compact.write_request(start, {.client = 1, .slot = 2, .sequence = 3}, Method::set, bytes_of("key"),
                        bytes_of("value"));
  for (int round = 0; round < 20000; ++round) {
    // A copy of exactly this size, so that the sanitizer sees any byte too many.
    std::vector<std::byte> bytes(start.begin(),
                                 start.begin() + static_cast<std::ptrdiff_t>(random() % start.size()));
    for (int flips = 0; flips < 4 && !bytes.empty(); ++flips)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    for (const MessageFormat* format : {&thesis, &compact}) {
      RequestView request;
      if (format->parse_request(bytes, request) == ParseError::none) {
        REQUIRE(request.key.size() + request.value.size() + request_header_bytes <= bytes.size());
      }
      ResponseView response;
      if (format->parse_response(bytes, response))
        REQUIRE(response.value.size() + response_header_bytes <= bytes.size());
    }
  }
}
