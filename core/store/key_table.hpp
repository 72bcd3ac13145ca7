// What hash tables of keys need: a key that is looked for is bytes, one that is stored a Blob.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include "core/store/blob.hpp"

namespace rkv {

struct KeyHash {
  using is_transparent = void;
  std::size_t operator()(std::span<const std::byte> key) const {
    return std::hash<std::string_view>{}({reinterpret_cast<const char*>(key.data()), key.size()});
  }
  std::size_t operator()(const Blob& key) const { return (*this)(key.bytes()); }
};

struct KeyEqual {
  using is_transparent = void;
  bool operator()(const Blob& stored, std::span<const std::byte> key) const { return stored.equals(key); }
  bool operator()(std::span<const std::byte> key, const Blob& stored) const { return stored.equals(key); }
  bool operator()(const Blob& stored, const Blob& key) const { return stored.equals(key.bytes()); }
};

}  // namespace rkv
