// Counts the bytes a store holds against a limit. Thread-safe. Allocators' own headers are not counted.
#pragma once

#include <atomic>
#include <cstdint>

namespace rkv {

class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // False: it would pass the limit, and nothing was taken. Near the limit, a reservation may be refused for
  // the sake of another that is itself refused at the same moment.
  [[nodiscard]] bool reserve(std::uint64_t bytes) {
    if (bytes > limit_bytes_) {
      return false;
    }
    if (used_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= limit_bytes_) {
      return true;
    }
    release(bytes);
    return false;
  }

  void release(std::uint64_t bytes) { used_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }

 private:
  const std::uint64_t limit_bytes_;
  std::atomic<std::uint64_t> used_bytes_{0};
};

}  // namespace rkv
