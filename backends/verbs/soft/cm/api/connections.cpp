// Forming and ending connections.
#include "backends/verbs/soft/cm/api/forward.hpp"
#include "backends/verbs/soft/cm/api/outcome.hpp"
#include "backends/verbs/soft/cm/api/queue_pair_states.hpp"

using rkv::soft::cm::completed;
using rkv::soft::cm::drop_event;
using rkv::soft::cm::Identifier;
using rkv::soft::cm::make_broken;
using rkv::soft::cm::outcome;
using rkv::soft::cm::serves;
namespace reject_reason = rkv::soft::cm::reject_reason;

RKV_SOFT_EXPORT int rdma_listen(rdma_cm_id* id, int backlog) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_listen, "RDMACM_1.0", id, backlog);
  return outcome(Identifier::from(id)->listen(backlog));
}

RKV_SOFT_EXPORT int rdma_get_request(rdma_cm_id* listen, rdma_cm_id** id) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_get_request, "RDMACM_1.0", listen, id);
  Identifier& listening = *Identifier::from(listen);
  if (!listening.is_synchronous()) return outcome(EINVAL);
  drop_event(*listen);
  rdma_cm_event* event = nullptr;
  if (rdma_get_cm_event(listen->channel, &event) != 0) return -1;
  if (event->status != 0 || event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
    listen->event = event;
    return outcome(event->status != 0 ? event->status : EINVAL);
  }
  if (listening.child_queue_pairs) {
    ibv_qp_init_attr wanted = *listening.child_queue_pairs;
    if (rdma_create_qp(event->id, listen->pd, &wanted) != 0) {
      const int error = errno;
      rdma_cm_id* const requested = event->id;
      rdma_ack_cm_event(event);
      rdma_destroy_id(requested);
      return outcome(error);
    }
  }
  *id = event->id;
  (*id)->event = event;
  return 0;
}

RKV_SOFT_EXPORT int rdma_connect(rdma_cm_id* id, rdma_conn_param* wanted) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_connect, "RDMACM_1.0", id, wanted);
  Identifier& connecting = *Identifier::from(id);
  return completed(connecting, connecting.connect(wanted));
}

RKV_SOFT_EXPORT int rdma_establish(rdma_cm_id* id) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_establish, "RDMACM_1.2", id);
  return outcome(id->qp != nullptr ? EINVAL : Identifier::from(id)->establish());
}

RKV_SOFT_EXPORT int rdma_accept(rdma_cm_id* id, rdma_conn_param* wanted) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_accept, "RDMACM_1.0", id, wanted);
  Identifier& accepting = *Identifier::from(id);
  int error = accepting.begin_accepting(wanted);
  if (error == 0 && !accepting.is_datagram()) error = rkv::soft::cm::make_ready_to_send(accepting);
  if (error != 0) return outcome(error);
  error = accepting.accept(wanted);
  if (!accepting.is_datagram()) {
    if (error != 0) make_broken(accepting);
    return completed(accepting, error);
  }
  if (error == 0 && accepting.is_synchronous()) drop_event(*id);
  return outcome(error);
}

RKV_SOFT_EXPORT int rdma_reject(rdma_cm_id* id, const void* data, std::uint8_t bytes) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_reject, "RDMACM_1.0", id, data, bytes);
  return outcome(Identifier::from(id)->reject(reject_reason::consumer_defined, data, bytes));
}

RKV_SOFT_EXPORT int rdma_reject_ece(rdma_cm_id* id, const void* data, std::uint8_t bytes) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_reject_ece, "RDMACM_1.3", id, data, bytes);
  return outcome(Identifier::from(id)->reject(reject_reason::vendor_option_not_supported, data, bytes));
}

RKV_SOFT_EXPORT int rdma_notify(rdma_cm_id* id, ibv_event_type event) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_notify, "RDMACM_1.0", id, event);
  return outcome(Identifier::from(id)->notify(event));
}

RKV_SOFT_EXPORT int rdma_disconnect(rdma_cm_id* id) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_disconnect, "RDMACM_1.0", id);
  Identifier& leaving = *Identifier::from(id);
  make_broken(leaving);
  const int error = leaving.disconnect();
  // The event of an id that is disconnected for the second time has been got.
  return leaving.expects_event() ? completed(leaving, error) : outcome(error);
}
