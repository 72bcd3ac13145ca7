#include "backends/verbs/port/queue_pair.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <random>

#include "backends/verbs/path_mtu.hpp"
#include "backends/verbs/port/address_handle.hpp"
#include "backends/verbs/port/address_resolution.hpp"
#include "backends/verbs/port/post_receives.hpp"
#include "backends/verbs/port/shared_receive_queue.hpp"
#include "backends/verbs/port/system_error.hpp"

namespace rkv::verbs {
namespace {

// RC's retransmission, in the units of the InfiniBand specification vol. 1, 9.7.5: a lost packet is sent
// again after 4.096 us x 2^14 = 67 ms, six times (rdma_rxe takes seven for ever); "receiver not ready" is
// tried again after 0.64 ms, for ever.
constexpr std::uint8_t local_ack_timeout = 14;
constexpr std::uint8_t retry_count = 6;
constexpr std::uint8_t rnr_retry_without_end = 7;
constexpr std::uint8_t min_rnr_timer = 12;

constexpr unsigned packet_sequence_bits = 24;

std::uint32_t random_bits(unsigned bits) {
  std::random_device entropy;
  return static_cast<std::uint32_t>(entropy()) >> (32U - bits);
}

ibv_qp_type queue_pair_type(Transport transport) {
  switch (transport) {
    case Transport::rc:
      return IBV_QPT_RC;
    case Transport::uc:
      return IBV_QPT_UC;
    case Transport::ud:
      return IBV_QPT_UD;
    case Transport::tcp:
      break;
  }
  throw Error("queue pair: TCP has none; use a stream");
}

unsigned peer_access(const QueuePairSpec& spec, unsigned exposed) {
  if (!spec.one_sided || spec.transport == Transport::ud) return 0;
  return spec.transport == Transport::uc ? static_cast<unsigned>(IBV_ACCESS_REMOTE_WRITE) : exposed;
}

ibv_wr_opcode opcode(SendOperation operation) {
  switch (operation) {
    case SendOperation::write:
      return IBV_WR_RDMA_WRITE;
    case SendOperation::write_with_immediate:
      return IBV_WR_RDMA_WRITE_WITH_IMM;
    case SendOperation::read:
      return IBV_WR_RDMA_READ;
    case SendOperation::compare_and_swap:
      return IBV_WR_ATOMIC_CMP_AND_SWP;
    case SendOperation::fetch_and_add:
      return IBV_WR_ATOMIC_FETCH_AND_ADD;
    case SendOperation::send:
      break;
  }
  return IBV_WR_SEND;
}

VerbsCompletionQueue& own(CompletionQueue* queue) {
  auto* verbs_queue = dynamic_cast<VerbsCompletionQueue*>(queue);
  if (verbs_queue == nullptr) throw Error("queue pair: it needs completion queues of the same device");
  return *verbs_queue;
}

}  // namespace

VerbsQueuePair::VerbsQueuePair(ibv_pd* domain, std::string device, const PortIdentity& identity,
                               const QueuePairSpec& spec, unsigned exposed_access)
    : device_(std::move(device)),
      identity_(identity),
      transport_(spec.transport),
      sends_(own(spec.send_completions)),
      peer_access_(peer_access(spec, exposed_access)),
      packet_sequence_(random_bits(packet_sequence_bits)),
      qkey_(spec.transport == Transport::ud ? random_bits(31) : 0) {  // the top bit is for privileged users
  VerbsCompletionQueue& receives = own(spec.receive_completions);
  ibv_qp_init_attr attributes{};
  attributes.qp_type = queue_pair_type(spec.transport);
  attributes.send_cq = sends_.get();
  attributes.recv_cq = receives.get();
  if (spec.shared_receives != nullptr) {
    attributes.srq = static_cast<VerbsSharedReceiveQueue&>(*spec.shared_receives).get();
  }
  attributes.cap.max_send_wr = spec.send_depth;
  attributes.cap.max_recv_wr = spec.shared_receives == nullptr ? spec.receive_depth : 0;
  attributes.cap.max_send_sge = spec.max_sge;
  attributes.cap.max_recv_sge = spec.max_sge;
  attributes.cap.max_inline_data = spec.inline_bytes;
  if (spec.one_sided && spec.transport == Transport::rc) {
    read_depths_ = query_read_depths(domain->context, device_);
  }
  receives.attach_receives(spec.transport);
  pair_ = ::ibv_create_qp(domain, &attributes);
  if (pair_ == nullptr) {
    throw system_error(
        device_,
        fmt::format("ibv_create_qp with {} sends, {} receives, {} scatter/gather entries, {} bytes inline",
                    spec.send_depth, spec.receive_depth, spec.max_sge, spec.inline_bytes),
        errno);
  }
  try {
    to_init();
  } catch (...) {
    ::ibv_destroy_qp(pair_);
    throw;
  }
}

VerbsQueuePair::~VerbsQueuePair() {
  sends_.forget(pair_->qp_num);
  ::ibv_destroy_qp(pair_);
}

Endpoint VerbsQueuePair::endpoint() const {
  Endpoint self;
  self.queue_pair = pair_->qp_num;
  self.packet_sequence = packet_sequence_;
  self.qkey = qkey_;
  self.lid = identity_.lid;
  self.gid = identity_.gid;
  self.path_mtu_bytes = mtu_bytes(identity_.active_mtu);
  return self;
}

void VerbsQueuePair::connect(const Endpoint& peer) {
  const std::scoped_lock changing(changing_);
  to_ready_to_receive(peer);
  to_ready_to_send();
  connected_ = true;
}

void VerbsQueuePair::fail() {
  const std::scoped_lock changing(changing_);
  if (!connected_) return;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  modify(attributes, IBV_QP_STATE, "ERR");
}

void VerbsQueuePair::reset() {
  const std::scoped_lock changing(changing_);
  connected_ = false;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RESET;
  modify(attributes, IBV_QP_STATE, "RESET");
  // Packets of the connection before, still on their way, do not fit the next one.
  packet_sequence_ = random_bits(packet_sequence_bits);
  to_init();
}

void VerbsQueuePair::modify(ibv_qp_attr& attributes, int mask, const char* to_state) {
  const int failure = with_resolution([&] {
    const int result = ::ibv_modify_qp(pair_, &attributes, mask);
    return result < 0 ? errno : result;
  });
  if (failure != 0) throw system_error(device_, fmt::format("ibv_modify_qp to {}", to_state), failure);
}

void VerbsQueuePair::to_init() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.pkey_index = 0;
  attributes.port_num = identity_.port;
  int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
  if (transport_ == Transport::ud) {
    attributes.qkey = qkey_;
    mask |= IBV_QP_QKEY;
  } else {
    attributes.qp_access_flags = peer_access_;
    mask |= IBV_QP_ACCESS_FLAGS;
  }
  modify(attributes, mask, "INIT");
}

void VerbsQueuePair::to_ready_to_receive(const Endpoint& peer) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  int mask = IBV_QP_STATE;
  if (transport_ != Transport::ud) {
    attributes.ah_attr = path_to(identity_, peer);
    attributes.path_mtu = std::min(identity_.active_mtu, mtu_within(peer.path_mtu_bytes));
    attributes.dest_qp_num = peer.queue_pair;
    attributes.rq_psn = peer.packet_sequence;
    mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  }
  if (transport_ == Transport::rc) {
    attributes.max_dest_rd_atomic = read_depths_.served;
    attributes.min_rnr_timer = min_rnr_timer;
    mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  }
  modify(attributes, mask, "RTR");
}

void VerbsQueuePair::to_ready_to_send() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = packet_sequence_;
  int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (transport_ == Transport::rc) {
    attributes.timeout = local_ack_timeout;
    attributes.retry_cnt = retry_count;
    attributes.rnr_retry = rnr_retry_without_end;
    attributes.max_rd_atomic = read_depths_.posted;
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  }
  modify(attributes, mask, "RTS");
}

bool VerbsQueuePair::possible(const SendRequest& request) const {
  return is_well_formed(request, transport_) && !(request.watched && sends_.blockable());
}

void VerbsQueuePair::fill(const SendRequest& request, ibv_send_wr& work, ibv_sge& segment) {
  segment = segment_of(*request.region, request.offset, request.length);
  work = {};
  work.wr_id = request.id;
  work.sg_list = &segment;
  work.num_sge = 1;
  work.opcode = opcode(request.operation);
  work.send_flags = (request.signalled ? static_cast<unsigned>(IBV_SEND_SIGNALED) : 0U) |
                    (request.inlined ? static_cast<unsigned>(IBV_SEND_INLINE) : 0U);
  if (is_atomic(request.operation)) {
    work.wr.atomic.remote_addr = request.remote.address;
    work.wr.atomic.rkey = request.remote.key;
    work.wr.atomic.compare_add = request.operand;
    work.wr.atomic.swap = request.swap;
    sends_.note_one_sided();
  } else if (request.operation != SendOperation::send) {
    work.wr.rdma.remote_addr = request.remote.address;
    work.wr.rdma.rkey = request.remote.key;
    work.imm_data = htonl(request.immediate);
    sends_.note_one_sided();
  } else if (request.destination != nullptr) {
    const auto& destination = static_cast<const VerbsAddressHandle&>(*request.destination);
    work.wr.ud.ah = destination.get();
    work.wr.ud.remote_qpn = destination.queue_pair();
    work.wr.ud.remote_qkey = destination.qkey();
  }
}

int VerbsQueuePair::post_sends(std::span<const SendRequest> requests) {
  if (requests.empty() || requests.size() > most_chained) return EINVAL;
  std::size_t watched = 0;
  for (const SendRequest& request : requests) {
    if (!possible(request)) return EINVAL;
    watched += request.watched ? 1 : 0;
  }
  if (watched > 0 && !sends_.can_watch(watched)) return ENOMEM;
  // Uninitialised: one request is the common case.
  std::array<ibv_send_wr, most_chained> chain;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::array<ibv_sge, most_chained> segments;   // NOLINT(cppcoreguidelines-pro-type-member-init)
  for (std::size_t i = 0; i < requests.size(); ++i) {
    fill(requests[i], chain[i], segments[i]);
    if (i > 0) chain[i - 1].next = &chain[i];
  }
  ibv_send_wr* refused = nullptr;
  const int failure = ::ibv_post_send(pair_, chain.data(), &refused);
  if (watched > 0) {
    for (std::size_t i = 0; i < requests.size() && (failure == 0 || &chain[i] != refused); ++i) {
      const SendRequest& request = requests[i];
      if (!request.watched) continue;
      sends_.watch(pair_->qp_num, request.id, request.region->bytes()[request.offset + request.length - 1]);
    }
  }
  return failure < 0 ? errno : failure;
}

int VerbsQueuePair::post_receives(std::span<const ReceiveRequest> requests) {
  if (pair_->srq != nullptr) return EINVAL;
  return post_receive_chain(requests, [this](ibv_recv_wr* first, ibv_recv_wr** refused) {
    return ::ibv_post_recv(pair_, first, refused);
  });
}

}  // namespace rkv::verbs
