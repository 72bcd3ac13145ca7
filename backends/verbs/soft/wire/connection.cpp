#include "backends/verbs/soft/wire/connection.hpp"

#include "backends/verbs/path_mtu.hpp"
#include "backends/verbs/soft/verbs/queue_pair.hpp"
#include "backends/verbs/soft/wire/endpoint.hpp"

namespace rkv::soft {
namespace wire {
namespace {

// Queue pairs are numbered with 24 bits; the responder of each draws its faults from a stream of its own.
constexpr std::uint32_t responder_stream = 1U << 24;

}  // namespace

bool leads_elsewhere(const QueuePair& qp) {
  const std::uint32_t address = qp.peer_address.load(std::memory_order_relaxed);
  return address != 0 && address != Endpoint::instance().address() && Endpoint::instance().has_network();
}

void connect(QueuePair& qp) {
  if (qp.remote == nullptr) {
    qp.remote.reset(new Connection);
    qp.remote->requester.in_flight.resize(std::size_t{qp.backlog.slot_mask} + 1);
    qp.remote->requester.position = qp.backlog.head;
    qp.remote->requester.started = qp.backlog.head;
    qp.remote->requester.faults.stream_number = qp.number();
    qp.remote->responder.results.resize(limits::max_rd_atomic);
    qp.remote->responder.faults.stream_number = qp.number() | responder_stream;
    qp.remote->mtu_bytes = verbs::mtu_bytes(qp.attributes.path_mtu);
  }
}

}  // namespace wire

void ConnectionDeleter::operator()(wire::Connection* connection) const {
  delete connection;
}

}  // namespace rkv::soft
