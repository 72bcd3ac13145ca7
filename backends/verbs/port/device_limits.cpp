#include "backends/verbs/port/device_limits.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>

#include "backends/verbs/path_mtu.hpp"
#include "backends/verbs/port/system_error.hpp"

namespace rkv::verbs {
namespace {

using ProbeQueue = std::unique_ptr<ibv_cq, decltype([](ibv_cq* queue) { ::ibv_destroy_cq(queue); })>;
using ProbePair = std::unique_ptr<ibv_qp, decltype([](ibv_qp* pair) { ::ibv_destroy_qp(pair); })>;

constexpr int most_reads = 16;

ibv_device_attr query_device(ibv_context* context, std::string_view device) {
  ibv_device_attr attributes{};
  if (const int failure = ::ibv_query_device(context, &attributes); failure != 0) {
    throw system_error(device, "ibv_query_device", failure < 0 ? errno : failure);
  }
  return attributes;
}

// What the device grants when asked for `bytes`, or nothing when it refuses.
std::optional<std::uint32_t> inline_granted(ibv_pd* domain, ibv_cq* queue, ibv_qp_type type,
                                            std::uint32_t bytes) {
  ibv_qp_init_attr attributes{};
  attributes.qp_type = type;
  attributes.send_cq = queue;
  attributes.recv_cq = queue;
  attributes.cap = {
      .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = bytes};
  const ProbePair pair(::ibv_create_qp(domain, &attributes));
  if (!pair) return std::nullopt;
  return attributes.cap.max_inline_data;
}

std::uint32_t inline_limit(ibv_pd* domain, ibv_cq* queue, ibv_qp_type type) {
  std::uint32_t granted = 0;
  std::uint32_t refused = 8192;  // more than any device's largest work request
  while (granted + 1 < refused) {
    const std::uint32_t bytes = (granted + refused) / 2;
    if (const auto answer = inline_granted(domain, queue, type, bytes)) {
      granted = std::max(bytes, *answer);  // devices round up to the size of a work request
    } else {
      refused = bytes;
    }
  }
  return granted;
}

}  // namespace

DeviceLimits query_limits(ibv_context* context, ibv_pd* domain, std::string_view device,
                          const PortIdentity& identity) {
  const ibv_device_attr attributes = query_device(context, device);
  const ProbeQueue queue(::ibv_create_cq(context, 1, nullptr, nullptr, 0));
  if (!queue) throw system_error(device, "ibv_create_cq", errno);

  DeviceLimits limits;
  limits.inline_bytes =
      std::min(inline_limit(domain, queue.get(), IBV_QPT_RC), inline_limit(domain, queue.get(), IBV_QPT_UD));
  limits.max_sge = static_cast<std::uint32_t>(attributes.max_sge);
  limits.queue_depth = static_cast<std::uint32_t>(attributes.max_qp_wr);
  limits.completion_queue_depth = static_cast<std::uint32_t>(attributes.max_cqe);
  limits.path_mtu_bytes = mtu_bytes(identity.active_mtu);
  limits.shared_receive_depth =
      attributes.max_srq > 0 ? static_cast<std::uint32_t>(attributes.max_srq_wr) : 0;
  limits.atomics = attributes.atomic_cap != IBV_ATOMIC_NONE;
  return limits;
}

ReadDepths query_read_depths(ibv_context* context, std::string_view device) {
  const ibv_device_attr attributes = query_device(context, device);
  return {.posted = static_cast<std::uint8_t>(std::min(most_reads, attributes.max_qp_init_rd_atom)),
          .served = static_cast<std::uint8_t>(std::min(most_reads, attributes.max_qp_rd_atom))};
}

}  // namespace rkv::verbs
