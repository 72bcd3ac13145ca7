// Requests and responses as bytes, the same over every transport.
//
// A request is a 32-byte header, the key and the value; a response a 16-byte header and the value. In the
// `fixed` format key and value areas have their full capacity whatever they hold, so that with 64 and 256
// bytes a request is 352 bytes and a response 272, the structs of Troost's benchmark; in the `compact` format
// nothing is padded. Fields are little-endian. A request says who sent it (client, slot) and which of its
// requests it is (sequence, growing in each slot), so that repeated and late messages are recognised.
//
// Parsing checks every field of these untrusted bytes against the bytes that are there. Nothing allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/message/protocol.hpp"
#include "core/message/sizes.hpp"
#include "core/scenario/scenario.hpp"

namespace rkv {

// Sequences are 48-bit, so that a server can keep one beside its state in a single atomic word.
inline constexpr std::uint64_t sequence_limit = std::uint64_t{1} << 48;

// Who asks: the same request sent again carries the same three values.
struct RequestId {
  std::uint32_t client = 0;
  std::uint16_t slot = 0;
  std::uint64_t sequence = 0;
};

struct RequestView {
  RequestId id;
  Method method = Method::ping;
  std::span<const std::byte> key;
  std::span<const std::byte> value;
};

struct ResponseView {
  std::uint16_t slot = 0;
  std::uint64_t sequence = 0;
  ResponseCode code = ResponseCode::unknown_error;
  std::span<const std::byte> value;
};

enum class ParseError : std::uint8_t {
  none,
  unreadable,  // too short, no message of ours: there is nobody to answer
  malformed,   // the header names its sender, but method or lengths make no sense
};

class MessageFormat {
 public:
  explicit MessageFormat(const MessageOptions& options) : options_(options) {}

  // The largest messages of this format; buffers are sized by them.
  [[nodiscard]] std::uint32_t largest_request_bytes() const { return rkv::largest_request_bytes(options_); }
  [[nodiscard]] std::uint32_t largest_response_bytes() const { return rkv::largest_response_bytes(options_); }

  // Writes a request into `out` (at least largest_request_bytes) and returns its length.
  // key and value fit the capacities.
  std::uint32_t write_request(std::span<std::byte> out, const RequestId& id, Method method,
                              std::span<const std::byte> key, std::span<const std::byte> value) const;
  // Of a request that was written.
  static void change_method(std::span<std::byte> request, Method method);
  // `request.id` is set unless the error is `unreadable`; the spans point into `bytes`.
  ParseError parse_request(std::span<const std::byte> bytes, RequestView& request) const;

  // Where a response's value goes in its buffer, before write_response fills in the header.
  [[nodiscard]] std::span<std::byte> response_value(std::span<std::byte> out) const;
  std::uint32_t write_response(std::span<std::byte> out, const RequestId& id, ResponseCode code,
                               std::uint32_t value_bytes) const;
  [[nodiscard]] bool parse_response(std::span<const std::byte> bytes, ResponseView& response) const;

  // On a byte stream: the length of the message that starts here, 0 when its header is not there yet,
  // nothing when no message of ours can start so (the connection is then closed).
  [[nodiscard]] std::optional<std::uint32_t> request_length(std::span<const std::byte> bytes) const;
  [[nodiscard]] std::optional<std::uint32_t> response_length(std::span<const std::byte> bytes) const;

  [[nodiscard]] bool fixed() const { return options_.format == MessageOptions::Format::fixed; }

 private:
  MessageOptions options_;
};

}  // namespace rkv
