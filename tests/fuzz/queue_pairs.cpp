#include "tests/fuzz/queue_pairs.hpp"

#include <algorithm>
#include <mutex>

#include "backends/verbs/soft/transport/failure.hpp"
#include "backends/verbs/soft/verbs/completion_queue.hpp"
#include "backends/verbs/soft/verbs/receive_queue.hpp"
#include "backends/verbs/soft/wire/connection.hpp"
#include "backends/verbs/soft/wire/packet.hpp"
#include "backends/verbs/soft/wire/progress.hpp"
#include "backends/verbs/soft/wire/psn.hpp"
#include "backends/verbs/soft/wire/reliable_requester.hpp"
#include "tests/fuzz/require.hpp"

namespace rkv::soft {
namespace {

constexpr std::uint32_t first_peer_number = 0x1234;  // of the first queue pair's peer
constexpr std::uint32_t queue_key = 0x1111'1111;
constexpr int sges_max = 3;
constexpr std::uint32_t inline_bytes_max = 64;
constexpr std::uint8_t success = 0x1f;  // a syndrome

// Whether the queue pair's requests end when the peer answers: not without a timer, nor if the next time-out
// is one too many.
bool must_finish(const QueuePair& qp) {
  return qp.type == IBV_QPT_RC && qp.remote != nullptr && qp.timeout != 0 && qp.retries_left >= 2 &&
         qp.state.load() == IBV_QPS_RTS;
}

}  // namespace

QueuePairs::QueuePairs(Process& process, Input& input) : process_(process) {
  constexpr int sizes[] = {512, 512, 512, 3};  // the last one overruns
  cq_ = ibv_create_cq(process_.context, input.one_of(sizes), nullptr, process_.channel, 0);
  ibv_srq_init_attr shared{};
  shared.attr = {.max_wr = 16, .max_sge = sges_max, .srq_limit = 0};
  srq_ = ibv_create_srq(process_.pd, &shared);
  require(cq_ != nullptr && srq_ != nullptr, "queues can be made");
  for (Pair& each : pairs_) {
    create(each);
    connect(each, input);
  }
}

QueuePairs::~QueuePairs() {
  for (const Pair& each : pairs_) ibv_destroy_qp(each.handle);
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  while (ibv_get_cq_event(process_.channel, &cq, &context) == 0) ibv_ack_cq_events(cq, 1);
  ibv_destroy_cq(cq_);
  ibv_destroy_srq(srq_);
}

void QueuePairs::create(Pair& pair) {
  ibv_qp_init_attr attributes{};
  attributes.qp_type = pair.type;
  attributes.send_cq = cq_;
  attributes.recv_cq = cq_;
  attributes.srq = pair.shares ? srq_ : nullptr;
  attributes.cap = {.max_send_wr = 16,
                    .max_recv_wr = 8,
                    .max_send_sge = sges_max,
                    .max_recv_sge = sges_max,
                    .max_inline_data = inline_bytes_max};
  pair.handle = ibv_create_qp(process_.pd, &attributes);
  require(pair.handle != nullptr, "a queue pair can be made");
}

void QueuePairs::connect(Pair& pair, Input& input, ibv_qp_state until) {
  constexpr ibv_mtu mtus[] = {IBV_MTU_256, IBV_MTU_256, IBV_MTU_512, IBV_MTU_4096};
  constexpr std::uint32_t psns[] = {0, 0xfffffe, 0x7ffffd, 1};
  constexpr unsigned all = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  constexpr unsigned rights[] = {all, all, IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_WRITE};
  constexpr std::uint8_t outstanding[] = {4, 1, 128, 0};
  constexpr std::uint8_t retries[] = {7, 0, 1, 2};
  const unsigned choice = input.number<std::uint16_t>();
  const auto bits = [&](unsigned shift) { return choice >> shift & 3; };

  ibv_qp_attr to{};
  to.port_num = 1;
  to.qkey = queue_key;
  to.qp_access_flags = rights[bits(0)];
  to.path_mtu = mtus[bits(2)];
  to.ah_attr = process_.address();
  to.dest_qp_num = first_peer_number + static_cast<std::uint32_t>(&pair - pairs_.data());
  to.rq_psn = psns[bits(4)];
  to.sq_psn = psns[bits(6)];
  to.max_dest_rd_atomic = outstanding[bits(8)];
  to.max_rd_atomic = outstanding[bits(10)];
  to.min_rnr_timer = 1;
  to.timeout = bits(12) == 3 ? 0 : 31;  // longer than any input: pass_time() is what lets it end
  to.retry_cnt = retries[bits(14)];
  to.rnr_retry = retries[bits(12)];

  const bool connected = pair.type != IBV_QPT_UD, reliable = pair.type == IBV_QPT_RC;
  int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | (connected ? IBV_QP_ACCESS_FLAGS : IBV_QP_QKEY);
  to.qp_state = IBV_QPS_INIT;
  require(ibv_modify_qp(pair.handle, &to, mask) == 0, "a queue pair can be initialised");
  mask = IBV_QP_STATE | (connected ? IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN : 0) |
         (reliable ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
  to.qp_state = IBV_QPS_RTR;
  require(ibv_modify_qp(pair.handle, &to, mask) == 0, "a queue pair can be connected");
  if (until == IBV_QPS_RTR) return;
  mask = IBV_QP_STATE | IBV_QP_SQ_PSN |
         (reliable ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC : 0);
  to.qp_state = IBV_QPS_RTS;
  require(ibv_modify_qp(pair.handle, &to, mask) == 0, "a queue pair can be made ready to send");
}

// Entries of the posted part of `scratch`, with a wrong key here and there.
std::vector<ibv_sge> QueuePairs::list(Input& input) {
  constexpr std::uint32_t lengths[] = {8, 64, 0, 300, 256, 1'024, 3, 2'000};
  constexpr Memory::Name keys[] = {Memory::scratch, Memory::scratch, Memory::scratch, Memory::scratch,
                                   Memory::scratch, Memory::scratch, Memory::sealed,  Memory::foreign};
  constexpr std::size_t step = 256;
  const std::uint8_t shape = input.byte();
  std::vector<ibv_sge> sges(shape == 0 ? 1 : shape % (sges_max + 1));
  for (ibv_sge& each : sges) {
    each.length = input.one_of(lengths);
    each.addr = process_.memory.at(Memory::scratch).address((input.byte() * step) % (posted_bytes - 2'048));
    each.lkey = process_.memory.at(shape >= 0xf0 ? input.one_of(keys) : Memory::scratch).key();
  }
  return sges;
}

void QueuePairs::post_send(Input& input) {
  constexpr ibv_wr_opcode opcodes[] = {IBV_WR_SEND,
                                       IBV_WR_RDMA_READ,
                                       IBV_WR_RDMA_WRITE,
                                       IBV_WR_SEND_WITH_IMM,
                                       IBV_WR_ATOMIC_CMP_AND_SWP,
                                       IBV_WR_RDMA_WRITE_WITH_IMM,
                                       IBV_WR_ATOMIC_FETCH_AND_ADD};
  const std::size_t place = input.below(count);
  ibv_send_wr request{};
  request.opcode = input.one_of(opcodes);
  const std::uint8_t flags = input.byte();
  request.send_flags = ((flags & 1) == 0 ? unsigned{IBV_SEND_SIGNALED} : 0U) |
                       ((flags & 2) != 0 ? unsigned{IBV_SEND_FENCE} : 0U) |
                       ((flags & 4) != 0 ? unsigned{IBV_SEND_SOLICITED} : 0U) |
                       ((flags & 24) == 8 ? unsigned{IBV_SEND_INLINE} : 0U);
  std::vector<ibv_sge> sges = list(input);
  if (request.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    sges.resize(1, {.addr = process_.memory.at(Memory::scratch).address(),
                    .length = 0,
                    .lkey = process_.memory.at(Memory::scratch).key()});
    sges[0].length = sizeof(std::uint64_t);
    request.wr.atomic = {.remote_addr = 0x1000, .compare_add = 1, .swap = 2, .rkey = 0x77};
  } else if (pairs_[place].type == IBV_QPT_UD) {
    request.wr.ud = {.ah = process_.peer_handle, .remote_qpn = first_peer_number, .remote_qkey = queue_key};
  } else {
    request.wr.rdma = {.remote_addr = 0x1000, .rkey = 0x77};
  }
  request.wr_id = ledger_.next_id();
  request.sg_list = sges.data();
  request.num_sge = static_cast<int>(sges.size());
  ledger_.add_send(place, (request.send_flags & IBV_SEND_SIGNALED) != 0);
  ibv_send_wr* bad = nullptr;
  if (ibv_post_send(pairs_[place].handle, &request, &bad) != 0) ledger_.withdraw();
}

void QueuePairs::post_receive(Input& input) {
  const std::size_t place = input.below(count);
  std::vector<ibv_sge> sges = list(input);
  std::uint64_t room_bytes = 0;
  for (const ibv_sge& each : sges) room_bytes += each.length;
  ibv_recv_wr request{.wr_id = ledger_.next_id(),
                      .next = nullptr,
                      .sg_list = sges.data(),
                      .num_sge = static_cast<int>(sges.size())};
  ibv_recv_wr* bad = nullptr;
  const bool shares = pairs_[place].shares;
  ledger_.add_receive(shares ? Ledger::shared : place, room_bytes);
  const int error =
      shares ? ibv_post_srq_recv(srq_, &request, &bad) : ibv_post_recv(pairs_[place].handle, &request, &bad);
  if (error != 0) ledger_.withdraw();
}

std::size_t QueuePairs::place_of(std::uint32_t number) const {
  std::size_t place = 0;
  while (place < count && pairs_[place].handle->qp_num != number) ++place;
  require(place < count, "a completion is of a queue pair that is there");
  return place;
}

// The last look finds nothing, and acknowledges what is owed.
void QueuePairs::poll() {
  ibv_wc completion{};
  while (ibv_poll_cq(cq_, 1, &completion) > 0) {
    ledger_.complete(completion, place_of(completion.qp_num));
  }
}

void QueuePairs::arm(Input& input) {
  ibv_srq_attr attributes{.max_wr = 0, .max_sge = 0, .srq_limit = static_cast<std::uint32_t>(input.below(4))};
  require(ibv_modify_srq(srq_, &attributes, IBV_SRQ_LIMIT) == 0, "a shared receive queue can be armed");
  require(ibv_req_notify_cq(cq_, static_cast<int>(input.below(2))) == 0, "a completion queue can be armed");
}

void QueuePairs::move(Pair& pair, ibv_qp_state state, int mask) {
  ibv_qp_attr to{};
  to.qp_state = state;
  to.en_sqd_async_notify = 1;
  ibv_modify_qp(pair.handle, &to, IBV_QP_STATE | mask);  // not every state leads there
}

void QueuePairs::forget(std::size_t place) {
  ledger_.forget(place);
  shared_lost_ = shared_lost_ || pairs_[place].shares;
}

void QueuePairs::modify(Input& input) {
  const std::size_t place = input.below(count);
  Pair& pair = pairs_[place];
  const std::size_t choice = input.below(8);
  switch (choice) {
    case 0:
    case 1:
      move(pair, IBV_QPS_RESET);
      forget(place);
      connect(pair, input, choice == 0 ? IBV_QPS_RTS : IBV_QPS_RTR);
      break;
    case 2:
      move(pair, IBV_QPS_ERR);
      break;
    case 3:
    case 4:
      move(pair, IBV_QPS_SQD, choice == 3 ? IBV_QP_EN_SQD_ASYNC_NOTIFY : 0);
      break;
    case 5:
      move(pair, IBV_QPS_RTS);
      break;
    case 6:
      move(pair, IBV_QPS_RESET);
      forget(place);
      break;
    default:
      require(ibv_destroy_qp(pair.handle) == 0, "a queue pair can be destroyed");
      forget(place);
      create(pair);
      connect(pair, input);
  }
}

void QueuePairs::pass_time(QueuePair& qp) {
  Aftermath aftermath;
  {
    const std::scoped_lock lock(qp.send_lock);
    if (qp.type == IBV_QPT_RC && qp.remote != nullptr) wire::on_deadline(qp, ~std::uint64_t{0}, aftermath);
  }
  settle(aftermath);
}

// As a peer that has what it needs. The sequence number is taken for the expected one.
void QueuePairs::answer(const wire::Packet& request) {
  const std::size_t place = request.destination - first_peer_number;
  if (request.service != wire::Service::rc || place >= count) return;
  const QueuePair& qp = *QueuePair::from(pairs_[place].handle);
  if (qp.remote == nullptr) return;
  const std::uint32_t mtu_bytes = qp.remote->mtu_bytes;
  wire::Packet response;
  response.destination = qp.number();
  response.syndrome = success;
  const std::vector<std::byte> data(mtu_bytes);
  const auto send = [&](wire::Operation operation, std::uint32_t psn, std::size_t bytes) {
    response.operation = operation;
    response.sequence_number = psn;
    response.payload = std::span(data).first(bytes);
    std::vector<std::byte> datagram(wire::packet_bytes(response));
    wire::build(response, datagram);
    wire::seal(process_.peer.path(), datagram);
    wire::Progress::handle(process_.peer.path(), datagram);
  };
  switch (request.operation) {
    case wire::Operation::read_request:
      for (std::uint32_t done = 0, index = 0; index == 0 || done < request.length; ++index) {
        const std::uint32_t bytes = std::min(request.length - done, mtu_bytes);
        send(wire::Operation::read_response_only, wire::psn_add(request.sequence_number, index), bytes);
        done += bytes;
      }
      break;
    case wire::Operation::compare_swap:
    case wire::Operation::fetch_add:
      send(wire::Operation::atomic_acknowledge, request.sequence_number, 0);
      break;
    default:
      if (request.operation < wire::Operation::read_request && request.wants_acknowledgement) {
        send(wire::Operation::acknowledge, request.sequence_number, 0);
      }
  }
}

void QueuePairs::let_finish() {
  constexpr int rounds = 1'000;
  process_.peer.take_sent();  // lost
  for (const Pair& each : pairs_) {
    QueuePair& qp = *QueuePair::from(each.handle);
    if (!must_finish(qp)) continue;
    for (int round = 0; !qp.backlog.empty(); ++round) {
      require(round < rounds, "requests come to an end when the peer answers");
      const std::vector<wire::Packet> sent = process_.peer.take_sent();
      if (sent.empty()) {
        require(qp.retries_left > 0, "what the peer answers is taken");
        pass_time(qp);
      }
      for (const wire::Packet& request : sent) answer(request);
    }
  }
}

void QueuePairs::fail() {
  for (Pair& each : pairs_) move(each, IBV_QPS_ERR);
  poll();
  if (CompletionQueue::from(cq_)->overrun) return;
  for (std::size_t place = 0; place < count; ++place) ledger_.check_flushed(place);
  require(shared_lost_ || SharedReceiveQueue::from(srq_)->queue.count() == ledger_.shared_left(),
          "a shared receive that was taken completes");
}

}  // namespace rkv::soft
