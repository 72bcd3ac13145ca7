#include "tests/fuzz/memory.hpp"

#include <algorithm>

#include "tests/fuzz/require.hpp"

namespace rkv::soft {
namespace {

constexpr std::uint8_t harmless = 0x5a;
constexpr std::size_t secret_run_bytes = 16;  // more than two atomics of the fuzzer's happen to make

bool all_are(std::span<const std::byte> bytes, std::uint8_t value) {
  return std::ranges::all_of(bytes, [&](std::byte byte) { return byte == std::byte{value}; });
}

}  // namespace

std::uint64_t without_secret(std::uint64_t value) {
  for (unsigned shift = 0; shift < 64; shift += 8) {
    if ((value >> shift & 0xff) == secret) value ^= std::uint64_t{secret ^ harmless} << shift;
  }
  return value;
}

bool holds_secret(std::span<const std::byte> bytes) {
  std::size_t run = 0;
  for (const std::byte byte : bytes) {
    run = byte == std::byte{secret} ? run + 1 : 0;
    if (run == secret_run_bytes) return true;
  }
  return false;
}

Area::Area(ibv_pd* pd, Right right, std::uint8_t fill, bool changes)
    : pd_(pd),
      given_(right),
      right_(right),
      fill_(fill),
      changes_(changes),
      memory_(area_bytes + 2 * guard_bytes, std::byte{secret}) {
  mr_ = ibv_reg_mr(pd_, memory_.data() + guard_bytes, area_bytes, static_cast<int>(right));
  require(mr_ != nullptr, "memory can be registered");
  key_ = mr_->rkey;
}

void Area::fill() {
  if (mr_ == nullptr || right_ != given_) register_again();
  std::ranges::fill(std::span(memory_).subspan(guard_bytes, area_bytes), std::byte{fill_});
}

void Area::check() const {
  const std::span<const std::byte> all(memory_);
  require(all_are(all.first(guard_bytes), secret) && all_are(all.last(guard_bytes), secret),
          "nothing beside a region was written");
  if (!kept_.empty()) {
    require(std::ranges::equal(kept_, own()), "nothing was written to a region that is gone");
  } else if (!changes_) {
    require(all_are(own(), fill_), "nothing was written to a region without the right");
  }
}

void Area::give_up() {
  if (mr_ == nullptr) return;
  require(ibv_dereg_mr(mr_) == 0, "a region can be deregistered");
  mr_ = nullptr;
  right_ = Right::none;
  kept_.assign(own().begin(), own().end());
}

void Area::take_rights_away() {
  if (mr_ == nullptr || right_ != given_) return;
  require(ibv_rereg_mr(mr_, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, 0) == 0,
          "a region's rights can be taken");
  right_ = Right::none;
  kept_.assign(own().begin(), own().end());
}

void Area::register_again() {
  check();
  kept_.clear();
  if (mr_ == nullptr) {
    mr_ = ibv_reg_mr(pd_, memory_.data() + guard_bytes, area_bytes, static_cast<int>(given_));
    require(mr_ != nullptr, "memory can be registered once more");
    key_ = mr_->rkey;
  } else if (right_ != given_) {
    require(ibv_rereg_mr(mr_, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, static_cast<int>(given_)) == 0,
            "a region's rights can be given back");
  }
  right_ = given_;
}

Memory::Memory(ibv_pd* pd, ibv_pd* other)
    : areas_{Area(pd, Right::all, 0x11, true),      Area(pd, Right::all, 0x22, true),
             Area(pd, Right::read, 0x33, false),    Area(pd, Right::write, secret, true),
             Area(pd, Right::local, secret, true),  Area(pd, Right::none, secret, false),
             Area(other, Right::all, secret, false)} {}

void Memory::fill() {
  for (Area& each : areas_) each.fill();
}

void Memory::check() const {
  for (const Area& each : areas_) each.check();
  const auto* const rest = reinterpret_cast<const std::byte*>(areas_[scratch].address(posted_bytes));
  require(all_are({rest, area_bytes - posted_bytes}, secret), "nothing was written where nothing was posted");
}

}  // namespace rkv::soft
