#include "backends/verbs/soft/wire/connection.hpp"

#include "backends/verbs/path_mtu.hpp"
#include "backends/verbs/soft/verbs/queue_pair.hpp"
#include "backends/verbs/soft/wire/endpoint.hpp"

namespace rkv::soft {
namespace wire {
namespace {

// Queue pairs are numbered with 24 bits; the responder of each draws its faults from a stream of its own, and
// each connection from others, or faults that end one would end the next one as well.
constexpr std::uint32_t responder_stream = 1U << 24;
constexpr unsigned connection_shift = 25;

}  // namespace

bool leads_elsewhere(const QueuePair& qp) {
  const std::uint32_t address = qp.peer_address.load(std::memory_order_relaxed);
  return address != 0 && address != Endpoint::instance().address() && Endpoint::instance().has_network();
}

void connect(QueuePair& qp) {
  if (qp.remote == nullptr) {
    const std::uint32_t stream = qp.number() | qp.connections++ << connection_shift;
    qp.remote.reset(new Connection);
    qp.remote->requester.in_flight.resize(std::size_t{qp.backlog.slot_mask} + 1);
    qp.remote->requester.position = qp.backlog.head;
    qp.remote->requester.started = qp.backlog.head;
    qp.remote->requester.faults.stream_number = stream;
    qp.remote->responder.results.resize(limits::max_rd_atomic);
    qp.remote->responder.faults.stream_number = stream | responder_stream;
    qp.remote->mtu_bytes = verbs::mtu_bytes(qp.attributes.path_mtu);
  }
}

}  // namespace wire

void ConnectionDeleter::operator()(wire::Connection* connection) const {
  delete connection;
}

}  // namespace rkv::soft
