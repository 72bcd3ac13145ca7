#include "core/message/messages.hpp"

#include <bit>
#include <cstring>

namespace rkv {
namespace {

static_assert(std::endian::native == std::endian::little, "messages are little-endian, headers are copied");

constexpr std::uint32_t request_magic = 0x31564b52;  // "RKV1"
constexpr std::uint8_t response_magic = 0xA7;

struct RequestHeader {
  std::uint32_t magic;
  std::uint32_t client;
  std::uint64_t sequence;
  std::uint32_t key_bytes;
  std::uint32_t value_bytes;
  std::uint16_t slot;
  std::uint8_t method;
  std::uint8_t reserved[5];
};
static_assert(sizeof(RequestHeader) == request_header_bytes);

struct ResponseHeader {
  std::uint64_t sequence;
  std::uint32_t value_bytes;
  std::uint16_t slot;
  std::uint8_t code;
  std::uint8_t magic;
};
static_assert(sizeof(ResponseHeader) == response_header_bytes);

template <typename Header>
Header read_header(std::span<const std::byte> bytes) {
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}

bool known_method(std::uint8_t method) {
  return method >= static_cast<std::uint8_t>(Method::get) &&
         method <= static_cast<std::uint8_t>(Method::locate);
}

void copy(std::byte* to, std::span<const std::byte> from) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

}  // namespace

std::uint32_t MessageFormat::write_request(std::span<std::byte> out, const RequestId& id, Method method,
                                           std::span<const std::byte> key,
                                           std::span<const std::byte> value) const {
  const RequestHeader header{.magic = request_magic,
                             .client = id.client,
                             .sequence = id.sequence,
                             .key_bytes = static_cast<std::uint32_t>(key.size()),
                             .value_bytes = static_cast<std::uint32_t>(value.size()),
                             .slot = id.slot,
                             .method = static_cast<std::uint8_t>(method),
                             .reserved = {}};
  const std::size_t value_at = request_header_bytes + (fixed() ? options_.key_capacity_bytes : key.size());
  if (fixed())
    std::memset(out.data() + request_header_bytes, 0, largest_request_bytes() - request_header_bytes);
  std::memcpy(out.data(), &header, sizeof header);
  copy(out.data() + request_header_bytes, key);
  copy(out.data() + value_at, value);
  return fixed() ? largest_request_bytes() : static_cast<std::uint32_t>(value_at + value.size());
}

void MessageFormat::change_method(std::span<std::byte> request, Method method) {
  request[offsetof(RequestHeader, method)] = static_cast<std::byte>(method);
}

ParseError MessageFormat::parse_request(std::span<const std::byte> bytes, RequestView& request) const {
  if (bytes.size() < request_header_bytes) return ParseError::unreadable;
  const auto header = read_header<RequestHeader>(bytes);
  if (header.magic != request_magic || header.sequence >= sequence_limit) return ParseError::unreadable;
  request.id = {.client = header.client, .slot = header.slot, .sequence = header.sequence};
  if (!known_method(header.method) || header.key_bytes > options_.key_capacity_bytes ||
      header.value_bytes > options_.value_capacity_bytes) {
    return ParseError::malformed;
  }
  const std::size_t value_at =
      request_header_bytes + (fixed() ? std::size_t{options_.key_capacity_bytes} : header.key_bytes);
  const std::size_t length = fixed() ? largest_request_bytes() : value_at + header.value_bytes;
  if (bytes.size() != length) return ParseError::malformed;
  request.method = static_cast<Method>(header.method);
  request.key = bytes.subspan(request_header_bytes, header.key_bytes);
  request.value = bytes.subspan(value_at, header.value_bytes);
  return ParseError::none;
}

std::span<std::byte> MessageFormat::response_value(std::span<std::byte> out) const {
  return out.subspan(response_header_bytes, options_.value_capacity_bytes);
}

std::uint32_t MessageFormat::write_response(std::span<std::byte> out, const RequestId& id, ResponseCode code,
                                            std::uint32_t value_bytes) const {
  const ResponseHeader header{.sequence = id.sequence,
                              .value_bytes = value_bytes,
                              .slot = id.slot,
                              .code = static_cast<std::uint8_t>(code),
                              .magic = response_magic};
  std::memcpy(out.data(), &header, sizeof header);
  return fixed() ? largest_response_bytes() : response_header_bytes + value_bytes;
}

bool MessageFormat::parse_response(std::span<const std::byte> bytes, ResponseView& response) const {
  if (bytes.size() < response_header_bytes) return false;
  const auto header = read_header<ResponseHeader>(bytes);
  if (header.magic != response_magic || header.code >= response_code_count ||
      header.value_bytes > options_.value_capacity_bytes) {
    return false;
  }
  const std::size_t length =
      fixed() ? largest_response_bytes() : std::size_t{response_header_bytes} + header.value_bytes;
  if (bytes.size() != length) return false;
  response = {.slot = header.slot,
              .sequence = header.sequence,
              .code = static_cast<ResponseCode>(header.code),
              .value = bytes.subspan(response_header_bytes, header.value_bytes)};
  return true;
}

std::optional<std::uint32_t> MessageFormat::request_length(std::span<const std::byte> bytes) const {
  if (bytes.size() < request_header_bytes) return 0;
  const auto header = read_header<RequestHeader>(bytes);
  if (header.magic != request_magic || header.key_bytes > options_.key_capacity_bytes ||
      header.value_bytes > options_.value_capacity_bytes) {
    return std::nullopt;
  }
  return fixed() ? largest_request_bytes() : request_header_bytes + header.key_bytes + header.value_bytes;
}

std::optional<std::uint32_t> MessageFormat::response_length(std::span<const std::byte> bytes) const {
  if (bytes.size() < response_header_bytes) return 0;
  const auto header = read_header<ResponseHeader>(bytes);
  if (header.magic != response_magic || header.value_bytes > options_.value_capacity_bytes) {
    return std::nullopt;
  }
  return fixed() ? largest_response_bytes() : response_header_bytes + header.value_bytes;
}

}  // namespace rkv
