// Sizes of messages, in bytes. Requests and responses of the thesis: 352 and 272 with its capacities of 64
// and 256. Whether a device can carry them (a UD message must fit the path MTU) is for the backend to check.
#pragma once

#include <cstdint>

#include "core/scenario/scenario.hpp"

namespace rkv {

inline constexpr std::uint32_t request_header_bytes = 32;
inline constexpr std::uint32_t response_header_bytes = 16;

// Where an item lies, as a response's value (core/store/item_pointer.hpp).
inline constexpr std::uint32_t item_pointer_bytes = 12;

// Of either format: a compact message with the largest key and value is as long as a fixed one.
[[nodiscard]] constexpr std::uint32_t largest_request_bytes(const MessageOptions& message) {
  return request_header_bytes + message.key_capacity_bytes + message.value_capacity_bytes;
}

[[nodiscard]] constexpr std::uint32_t largest_response_bytes(const MessageOptions& message) {
  return response_header_bytes + message.value_capacity_bytes;
}

}  // namespace rkv
