// Keys and values as strings, for tests of stores.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/store/store.hpp"

namespace rkv::test {

inline std::span<const std::byte> bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// What GET answered with OK; nothing for KEY_ERROR. Anything else throws.
inline std::optional<std::string> get(Store& store, std::string_view key, Work& work) {
  std::vector<std::byte> out(1024);
  const GetResult result = store.get(bytes(key), out, work);
  if (result.code == ResponseCode::key_error) {
    return std::nullopt;
  }
  if (result.code != ResponseCode::ok) {
    throw std::runtime_error(std::string(name(result.code)));
  }
  return std::string(reinterpret_cast<const char*>(out.data()), result.value_bytes);
}

inline std::optional<std::string> get(Store& store, std::string_view key) {
  Work work;
  return get(store, key, work);
}

inline ResponseCode set(Store& store, std::string_view key, std::string_view value) {
  Work work;
  return store.set(bytes(key), bytes(value), work);
}

inline ResponseCode del(Store& store, std::string_view key) {
  Work work;
  return store.del(bytes(key), work);
}

}  // namespace rkv::test
