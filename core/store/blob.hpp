// A key or a value on the heap: one pointer, its length beside its bytes in the same block, so that whoever
// compares it touches the block and nobody else does. Not thread-safe: its holder's lock protects it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <utility>

namespace rkv {

class Blob {
 public:
  static constexpr std::size_t max_bytes = std::numeric_limits<std::uint32_t>::max();

  // What a blob of so many bytes takes from a memory budget.
  [[nodiscard]] static constexpr std::uint64_t footprint(std::size_t bytes) { return sizeof(Header) + bytes; }

  Blob() = default;  // empty: false, no block
  Blob(Blob&& other) noexcept : header_(std::exchange(other.header_, nullptr)) {}
  Blob& operator=(Blob&& other) noexcept {
    std::swap(header_, other.header_);
    return *this;
  }
  Blob(const Blob&) = delete;
  Blob& operator=(const Blob&) = delete;
  ~Blob() { ::operator delete(header_); }

  // False in the result when there is no memory. At most max_bytes.
  [[nodiscard]] static Blob copy_of(std::span<const std::byte> bytes) noexcept {
    Blob blob;
    void* block = ::operator new(sizeof(Header) + bytes.size(), std::nothrow);
    if (block != nullptr) {
      blob.header_ = new (block) Header{0, static_cast<std::uint32_t>(bytes.size())};
      blob.assign(bytes);
    }
    return blob;
  }

  [[nodiscard]] explicit operator bool() const { return header_ != nullptr; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data(), header_->bytes}; }
  [[nodiscard]] std::uint32_t capacity() const { return header_->capacity; }

  // `bytes` must fit the capacity.
  void assign(std::span<const std::byte> bytes) noexcept {
    header_->bytes = static_cast<std::uint32_t>(bytes.size());
    if (!bytes.empty()) {
      std::memcpy(data(), bytes.data(), bytes.size());
    }
  }

  // `out` has room for bytes().size().
  void copy_to(std::span<std::byte> out) const {
    if (header_->bytes != 0) {
      std::memcpy(out.data(), data(), header_->bytes);
    }
  }

  [[nodiscard]] bool equals(std::span<const std::byte> other) const {
    return header_->bytes == other.size() &&
           (other.empty() || std::memcmp(data(), other.data(), other.size()) == 0);
  }

 private:
  struct Header {
    std::uint32_t bytes;
    std::uint32_t capacity;
  };
  [[nodiscard]] std::byte* data() const { return reinterpret_cast<std::byte*>(header_ + 1); }

  Header* header_ = nullptr;
};

}  // namespace rkv
