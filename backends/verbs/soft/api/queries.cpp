// What the device, its port and its tables look like.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "backends/verbs/soft/api/forward.hpp"
#include "backends/verbs/soft/api/operations.hpp"
#include "backends/verbs/soft/verbs/clock.hpp"
#include "backends/verbs/soft/verbs/context.hpp"
#include "backends/verbs/soft/verbs/limits.hpp"
#include "backends/verbs/soft/wire/endpoint.hpp"

// Not in a public header, but called by pyverbs; the second member of the enumeration is RoCEv2.
enum ibv_gid_type_sysfs { IBV_GID_TYPE_SYSFS_IB_ROCE_V1, IBV_GID_TYPE_SYSFS_ROCE_V2 };
RKV_SOFT_EXPORT int ibv_query_gid_type(ibv_context* context, std::uint8_t port_num, unsigned index,
                                       ibv_gid_type_sysfs* type);

namespace rkv::soft {
namespace {

bool is_gid_index(std::uint32_t port_num, std::int64_t index) {
  return port_num == limits::port_num && index >= 0 && index < limits::gid_table_entries;
}

ibv_gid_entry gid_entry() {
  return {.gid = device_gid(),
          .gid_index = 0,
          .port_num = limits::port_num,
          .gid_type = IBV_GID_TYPE_ROCE_V2,
          .ndev_ifindex = 0};
}

ibv_device_attr device_attributes() {
  ibv_device_attr attributes{};
  std::strcpy(attributes.fw_ver, "0.1");
  attributes.node_guid = device_guid();
  attributes.sys_image_guid = device_guid();
  attributes.max_mr_size = limits::max_mr_bytes;
  attributes.page_size_cap = 0xffff'f000;
  attributes.vendor_id = 0xff'ffff;  // not an assigned one
  attributes.vendor_part_id = 1;
  attributes.max_qp = limits::max_qp;
  attributes.max_qp_wr = limits::max_qp_wr;
  attributes.device_cap_flags = IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_CURR_QP_STATE_MOD |
                                IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_BAD_QKEY_CNTR;
  attributes.max_sge = limits::max_sge;
  attributes.max_sge_rd = limits::max_sge;
  attributes.max_cq = limits::max_cq;
  attributes.max_cqe = limits::max_cqe;
  attributes.max_mr = limits::max_mr;
  attributes.max_pd = limits::max_pd;
  attributes.max_qp_rd_atom = limits::max_rd_atomic;
  attributes.max_res_rd_atom = static_cast<int>(limits::max_rd_atomic * limits::max_qp);
  attributes.max_qp_init_rd_atom = limits::max_rd_atomic;
  attributes.atomic_cap = IBV_ATOMIC_GLOB;  // the processor's own atomic instructions
  attributes.max_ah = limits::max_ah;
  attributes.max_srq = limits::max_srq;
  attributes.max_srq_wr = limits::max_srq_wr;
  attributes.max_srq_sge = limits::max_sge;
  attributes.max_pkeys = limits::pkey_table_entries;
  attributes.phys_port_cnt = 1;
  return attributes;
}

}  // namespace

int query_device_ex(ibv_context*, const ibv_query_device_ex_input*, ibv_device_attr_ex* attributes,
                    std::size_t bytes) {
  if (bytes < sizeof attributes->orig_attr) {
    return EINVAL;
  }
  ibv_device_attr_ex all{};
  all.orig_attr = device_attributes();
  all.completion_timestamp_mask = ~0ULL;
  all.hca_core_clock = limits::timestamp_khz;
  all.device_cap_flags_ex = all.orig_attr.device_cap_flags;
  all.phys_port_cnt_ex = 1;
  std::memcpy(attributes, &all, std::min(bytes, sizeof all));
  return 0;
}

int query_port(ibv_context* context, std::uint8_t port_num, ibv_port_attr* attributes, std::size_t bytes) {
  if (port_num != limits::port_num) {
    return EINVAL;
  }
  ibv_port_attr all{};
  all.state = IBV_PORT_ACTIVE;
  all.max_mtu = IBV_MTU_4096;
  all.active_mtu = wire::Endpoint::instance().mtu();
  all.gid_tbl_len = limits::gid_table_entries;
  all.port_cap_flags = IBV_PORT_IP_BASED_GIDS;
  all.max_msg_sz = limits::max_message_bytes;
  all.qkey_viol_cntr = Context::from(context)->qkey_violations.load(std::memory_order_relaxed);
  all.pkey_tbl_len = limits::pkey_table_entries;
  all.max_vl_num = 1;
  all.active_width = 2;   // 4x
  all.active_speed = 32;  // 25 Gbit/s a lane; there is no link whose rate could be told
  all.phys_state = 5;     // LinkUp
  all.link_layer = IBV_LINK_LAYER_ETHERNET;
  std::memcpy(attributes, &all, std::min(bytes, sizeof all));
  return 0;
}

int query_rt_values(ibv_context*, ibv_values_ex* values) {
  if ((values->comp_mask & ~static_cast<std::uint32_t>(IBV_VALUES_MASK_RAW_CLOCK)) != 0) {
    return EINVAL;
  }
  if ((values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK) != 0) {
    // In ticks of the completion time stamps, all of them in tv_nsec, as the mlx5 provider reports them.
    values->raw_clock.tv_sec = 0;
    values->raw_clock.tv_nsec = static_cast<long>(monotonic_ns());
  }
  return 0;
}

}  // namespace rkv::soft

using namespace rkv::soft;

RKV_SOFT_EXPORT int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  if (!is_soft(context)) {
    return RKV_SOFT_NEXT(ibv_query_device, "IBVERBS_1.1", context, attributes);
  }
  *attributes = device_attributes();
  return 0;
}

RKV_SOFT_EXPORT int ibv_query_port(ibv_context* context, std::uint8_t port_num,
                                   _compat_ibv_port_attr* attributes) {
  if (!is_soft(context)) {
    return RKV_SOFT_NEXT(ibv_query_port, "IBVERBS_1.1", context, port_num, attributes);
  }
  // Programs built before the structure grew know it up to `flags`.
  return query_port(context, port_num, reinterpret_cast<ibv_port_attr*>(attributes),
                    offsetof(ibv_port_attr, flags));
}

RKV_SOFT_EXPORT int ibv_query_gid(ibv_context* context, std::uint8_t port_num, int index, ibv_gid* gid) {
  if (!is_soft(context)) {
    return RKV_SOFT_NEXT(ibv_query_gid, "IBVERBS_1.1", context, port_num, index, gid);
  }
  if (!is_gid_index(port_num, index)) {
    errno = EINVAL;
    return -1;
  }
  *gid = index < limits::valid_gids ? device_gid() : ibv_gid{};  // as the kernel shows an empty entry
  return 0;
}

RKV_SOFT_EXPORT int ibv_query_gid_type(ibv_context* context, std::uint8_t port_num, unsigned index,
                                       ibv_gid_type_sysfs* type) {
  if (!is_soft(context)) {
    return RKV_SOFT_NEXT(ibv_query_gid_type, "IBVERBS_PRIVATE_34", context, port_num, index, type);
  }
  if (!is_gid_index(port_num, index)) {
    errno = EINVAL;
    return -1;
  }
  *type = IBV_GID_TYPE_SYSFS_ROCE_V2;
  return 0;
}

RKV_SOFT_EXPORT int _ibv_query_gid_ex(ibv_context* context, std::uint32_t port_num, std::uint32_t gid_index,
                                      ibv_gid_entry* entry, std::uint32_t flags, std::size_t entry_bytes) {
  if (!is_soft(context)) {
    return RKV_SOFT_NEXT(_ibv_query_gid_ex, "IBVERBS_1.11", context, port_num, gid_index, entry, flags,
                         entry_bytes);
  }
  if (flags != 0) {
    return EOPNOTSUPP;
  }
  if (!is_gid_index(port_num, gid_index)) {
    return EINVAL;
  }
  if (gid_index >= limits::valid_gids) {
    return ENODATA;
  }
  const ibv_gid_entry own = gid_entry();
  std::memcpy(entry, &own, std::min(entry_bytes, sizeof own));
  return 0;
}

RKV_SOFT_EXPORT ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries,
                                             std::size_t max_entries, std::uint32_t flags,
                                             std::size_t entry_bytes) {
  if (!is_soft(context)) {
    return RKV_SOFT_NEXT(_ibv_query_gid_table, "IBVERBS_1.11", context, entries, max_entries, flags,
                         entry_bytes);
  }
  if (flags != 0) {
    return -EOPNOTSUPP;
  }
  if (max_entries < limits::valid_gids) {
    return -EINVAL;
  }
  const ibv_gid_entry own = gid_entry();
  std::memcpy(entries, &own, std::min(entry_bytes, sizeof own));
  return limits::valid_gids;
}

RKV_SOFT_EXPORT int ibv_query_pkey(ibv_context* context, std::uint8_t port_num, int index, __be16* pkey) {
  if (!is_soft(context)) {
    return RKV_SOFT_NEXT(ibv_query_pkey, "IBVERBS_1.1", context, port_num, index, pkey);
  }
  if (port_num != limits::port_num || index < 0 || index >= limits::pkey_table_entries) {
    errno = EINVAL;
    return -1;
  }
  *pkey = limits::default_pkey;  // the same in either byte order
  return 0;
}

RKV_SOFT_EXPORT int ibv_get_pkey_index(ibv_context* context, std::uint8_t port_num, __be16 pkey) {
  if (!is_soft(context)) {
    return RKV_SOFT_NEXT(ibv_get_pkey_index, "IBVERBS_1.5", context, port_num, pkey);
  }
  if (port_num != limits::port_num || pkey != limits::default_pkey) {
    errno = EINVAL;
    return -1;
  }
  return 0;
}
