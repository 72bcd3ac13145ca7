#include "backends/verbs/port/shared_receive_queue.hpp"

#include <fmt/format.h>

#include <cerrno>

#include "backends/verbs/port/post_receives.hpp"
#include "backends/verbs/port/system_error.hpp"

namespace rkv::verbs {

VerbsSharedReceiveQueue::VerbsSharedReceiveQueue(ibv_pd* domain, std::string_view device, std::uint32_t depth,
                                                 std::uint32_t max_sge) {
  ibv_srq_init_attr attributes{};
  attributes.attr.max_wr = depth;
  attributes.attr.max_sge = max_sge;
  queue_ = ::ibv_create_srq(domain, &attributes);
  if (queue_ == nullptr) {
    throw system_error(
        device, fmt::format("ibv_create_srq with {} receives, {} scatter/gather entries", depth, max_sge),
        errno);
  }
}

VerbsSharedReceiveQueue::~VerbsSharedReceiveQueue() {
  ::ibv_destroy_srq(queue_);
}

int VerbsSharedReceiveQueue::post_receives(std::span<const ReceiveRequest> requests) {
  return post_receive_chain(requests, [this](ibv_recv_wr* first, ibv_recv_wr** refused) {
    return ::ibv_post_srq_recv(queue_, first, refused);
  });
}

}  // namespace rkv::verbs
