// The five path MTUs of InfiniBand: verbs' enumeration and bytes.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace rkv::verbs {

[[nodiscard]] constexpr std::uint32_t mtu_bytes(ibv_mtu mtu) {
  return 128U << static_cast<unsigned>(mtu);
}

// The largest path MTU that fits into `bytes`; 256 when none does.
[[nodiscard]] constexpr ibv_mtu mtu_within(std::uint32_t bytes) {
  for (const ibv_mtu mtu : {IBV_MTU_4096, IBV_MTU_2048, IBV_MTU_1024, IBV_MTU_512}) {
    if (mtu_bytes(mtu) <= bytes) return mtu;
  }
  return IBV_MTU_256;
}
static_assert(mtu_bytes(IBV_MTU_256) == 256 && mtu_bytes(IBV_MTU_4096) == 4096);

}  // namespace rkv::verbs
