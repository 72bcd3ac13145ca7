// Receives as one chain of work requests.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cerrno>
#include <span>

#include "backends/verbs/port/memory_region.hpp"
#include "core/port/device.hpp"

namespace rkv::verbs {

// post: int(ibv_recv_wr* first, ibv_recv_wr** refused), ibv_post_recv or ibv_post_srq_recv. An errno, or 0.
template <typename Post>
[[nodiscard]] int post_receive_chain(std::span<const ReceiveRequest> requests, const Post& post) {
  if (requests.empty() || requests.size() > most_chained) return EINVAL;
  // Uninitialised: one request is the common case.
  std::array<ibv_recv_wr, most_chained> chain;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::array<ibv_sge, most_chained> segments;   // NOLINT(cppcoreguidelines-pro-type-member-init)
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const ReceiveRequest& request = requests[i];
    chain[i] = {};
    chain[i].wr_id = request.id;
    if (request.length > 0) {
      segments[i] = segment_of(*request.region, request.offset, request.length);
      chain[i].sg_list = &segments[i];
      chain[i].num_sge = 1;
    }
    if (i > 0) chain[i - 1].next = &chain[i];
  }
  ibv_recv_wr* refused = nullptr;
  const int failure = post(chain.data(), &refused);
  return failure < 0 ? errno : failure;
}

}  // namespace rkv::verbs
