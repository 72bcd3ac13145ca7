// The memory of a fuzzed process: areas registered with different rights, each with guards around it. What no
// peer may read is full of one byte, the secret, which nothing that the fuzzer makes up contains; what no
// peer may write must be as it was.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rkv::soft {

inline constexpr std::size_t area_bytes = 8'192;
inline constexpr std::uint8_t secret = 0xa5;

// Of a number that goes into memory: the same without the secret's bytes.
std::uint64_t without_secret(std::uint64_t value);
bool holds_secret(std::span<const std::byte> bytes);

enum class Right : unsigned {
  none = 0,
  local = IBV_ACCESS_LOCAL_WRITE,
  read = local | IBV_ACCESS_REMOTE_READ,
  write = local | IBV_ACCESS_REMOTE_WRITE,
  all = local | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
};

class Area {
 public:
  Area(ibv_pd* pd, Right right, std::uint8_t fill, bool changes);

  std::uint64_t address(std::size_t offset = 0) const {
    return reinterpret_cast<std::uintptr_t>(memory_.data() + guard_bytes) + offset;
  }
  // Stays after the area is no longer registered.
  std::uint32_t key() const { return key_; }
  Right right() const { return right_; }

  void fill();
  void check() const;

  // Of an area whose registration comes and goes: what it holds may change while it has the rights.
  void give_up();
  void take_rights_away();
  void register_again();

 private:
  static constexpr std::size_t guard_bytes = 64;
  std::span<const std::byte> own() const { return std::span(memory_).subspan(guard_bytes, area_bytes); }

  ibv_pd* pd_;
  Right given_;
  Right right_;
  std::uint8_t fill_;
  bool changes_;
  std::vector<std::byte> memory_;
  std::vector<std::byte> kept_;  // what it must hold, if it may not change
  ibv_mr* mr_ = nullptr;
  std::uint32_t key_ = 0;
};

class Memory {
 public:
  enum Name : std::uint8_t { open, passing, readable, writable, scratch, sealed, foreign };
  static constexpr std::size_t names = 7;

  // `foreign` belongs to the other protection domain.
  Memory(ibv_pd* pd, ibv_pd* other);

  Area& at(std::size_t name) { return areas_[name]; }
  void fill();
  void check() const;

 private:
  std::array<Area, names> areas_;
};

// Receives and what responses bring go to the first part of `scratch`, so the rest stays as it was.
inline constexpr std::size_t posted_bytes = 6'144;

}  // namespace rkv::soft
