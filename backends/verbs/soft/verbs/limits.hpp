// What the device can do, as its query calls report it and as object creation enforces it.
#pragma once

#include <cstdint>

namespace rkv::soft::limits {

// The low 16 bits of queue pair numbers: 0 and 1 are special in InfiniBand, 0xffffff is the multicast number.
inline constexpr std::uint32_t first_qp_index = 0x11;
inline constexpr std::uint32_t last_qp_index = 0xfffe;
inline constexpr std::uint32_t max_qp = last_qp_index - first_qp_index + 1;
inline constexpr std::uint32_t max_qp_wr = 16'384;
inline constexpr std::uint32_t max_sge = 32;
inline constexpr std::uint32_t max_inline_bytes = 1'024;
inline constexpr std::uint32_t max_cq = 65'536;
inline constexpr std::uint32_t max_cqe = 1U << 20;
inline constexpr std::uint32_t max_mr = 65'535;
inline constexpr std::uint32_t max_pd = 65'536;
inline constexpr std::uint32_t max_srq = 65'536;
inline constexpr std::uint32_t max_srq_wr = 16'384;
inline constexpr std::uint32_t max_ah = 1U << 20;
inline constexpr std::uint32_t max_rd_atomic = 128;
inline constexpr std::uint64_t max_mr_bytes = 1ULL << 47;
inline constexpr std::uint32_t max_message_bytes = 1U << 30;
inline constexpr std::uint32_t path_mtu_bytes = 4'096;
inline constexpr std::uint32_t num_comp_vectors = 1;
inline constexpr std::uint8_t port_num = 1;
inline constexpr int gid_table_entries = 2;  // the second one is empty
inline constexpr int valid_gids = 1;
inline constexpr int pkey_table_entries = 1;
inline constexpr std::uint16_t default_pkey = 0xffff;
inline constexpr std::uint32_t qpn_mask = 0xff'ffff;
inline constexpr std::uint32_t grh_bytes = 40;
inline constexpr std::uint64_t timestamp_khz = 1'000'000;  // completion time stamps count nanoseconds

}  // namespace rkv::soft::limits
