#include "backends/verbs/soft/wire/inbound.hpp"

#include <mutex>

#include "backends/verbs/soft/verbs/limits.hpp"
#include "backends/verbs/soft/verbs/queue_pair_table.hpp"
#include "backends/verbs/soft/wire/connection.hpp"
#include "backends/verbs/soft/wire/counters.hpp"
#include "backends/verbs/soft/wire/packet.hpp"
#include "backends/verbs/soft/wire/reliable_requester.hpp"
#include "backends/verbs/soft/wire/reliable_responder.hpp"
#include "backends/verbs/soft/wire/unreliable.hpp"

namespace rkv::soft::wire {
namespace {

// The highest bit tells full members of a partition from limited ones; there is the default partition only.
constexpr std::uint16_t partition_mask = 0x7fff;

ibv_qp_type type_of(Service service) {
  switch (service) {
    case Service::rc:
      return IBV_QPT_RC;
    case Service::uc:
      return IBV_QPT_UC;
    default:
      return IBV_QPT_UD;
  }
}

bool is_response(Operation operation) {
  return operation >= Operation::read_response_first && operation <= Operation::atomic_acknowledge;
}

// Makes no completion here, so that nobody may poll for it.
bool is_one_sided(Operation operation) {
  switch (operation) {
    case Operation::write_last:
    case Operation::write_only:
    case Operation::read_request:
    case Operation::compare_swap:
    case Operation::fetch_add:
      return true;
    default:
      return false;
  }
}

// The queue pair that a packet is for and may come from; null: there is none.
QueuePair* recipient(const Packet& packet, std::uint32_t source_address) {
  QueuePair* const qp = QueuePairTable::instance().find(packet.destination);
  if (qp == nullptr || qp->type != type_of(packet.service) || !qp->is_receiving()) {
    return nullptr;
  }
  const bool from_peer =
      !qp->is_connected() ||
      (qp->remote != nullptr && qp->peer_address.load(std::memory_order_relaxed) == source_address);
  return from_peer ? qp : nullptr;
}

}  // namespace

Receipt receive_datagram_from(const Ipv4Path& path, std::span<const std::byte> datagram,
                              Aftermath& aftermath) {
  count(counters().packets_received);
  const std::optional<Packet> packet = parse(datagram);
  if (!packet || packet->payload.size() > limits::path_mtu_bytes ||
      (packet->partition & partition_mask) != (default_partition & partition_mask)) {
    count(counters().malformed);
    return {};
  }
  Receipt receipt;
  if (integrity(path, datagram, &receipt.identification) == Integrity::broken) {
    count(counters().damaged);
    return receipt;
  }
  QueuePair* const qp = recipient(*packet, path.source_address);
  if (qp == nullptr) {
    count(counters().nobody);
    return receipt;
  }
  receipt.one_sided = is_one_sided(packet->operation);
  switch (packet->service) {
    case Service::ud:
      receive_datagram(*qp, *packet, path.source_address, aftermath);
      break;
    case Service::uc:
      receive_unreliable(*qp, *packet, path.source_address, aftermath);
      break;
    case Service::rc:
      if (is_response(packet->operation)) {
        const std::scoped_lock lock(qp->send_lock);
        receive_response(*qp, *packet, aftermath);
      } else if (receive_request(*qp, *packet, path.source_address, aftermath)) {
        receipt.owes = qp->number();
      }
      break;
  }
  return receipt;
}

}  // namespace rkv::soft::wire
