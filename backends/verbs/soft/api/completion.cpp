// Completion channels and completion queues.
#include <cerrno>
#include <mutex>
#include <new>

#include "backends/verbs/soft/api/forward.hpp"
#include "backends/verbs/soft/api/operations.hpp"
#include "backends/verbs/soft/verbs/completion_queue.hpp"
#include "backends/verbs/soft/verbs/context.hpp"
#include "backends/verbs/soft/verbs/limits.hpp"
#include "backends/verbs/soft/verbs/protection_domain.hpp"
#include "backends/verbs/soft/wire/progress.hpp"

namespace rkv::soft {
namespace {

constexpr unsigned standard_wc_flags = IBV_WC_STANDARD_FLAGS;
constexpr unsigned clock_wc_flags =
    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
constexpr std::uint64_t supported_wc_flags = standard_wc_flags | clock_wc_flags;
constexpr std::uint32_t supported_cq_flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;

CompletionQueue* create(ibv_context* context, std::int64_t entries, void* cq_context,
                        ibv_comp_channel* channel, std::int64_t comp_vector) {
  if (entries < 1 || entries > limits::max_cqe || comp_vector < 0 ||
      comp_vector >= context->num_comp_vectors) {
    errno = EINVAL;
    return nullptr;
  }
  auto* const cq = new (std::nothrow) CompletionQueue;
  if (cq == nullptr || !cq->allocate(static_cast<std::uint32_t>(entries))) {
    delete cq;
    errno = ENOMEM;
    return nullptr;
  }
  cq->ibv.context = context;
  cq->ibv.channel = channel;
  cq->ibv.cq_context = cq_context;
  pthread_mutex_init(&cq->ibv.mutex, nullptr);
  pthread_cond_init(&cq->ibv.cond, nullptr);
  if (channel != nullptr) {
    const std::scoped_lock lock(CompletionChannel::from(channel)->mutex);
    ++channel->refcnt;
  }
  Context::from(context)->hold();
  return cq;
}

void translate(const Completion& from, ibv_wc& to) {
  to.wr_id = from.wr_id;
  to.status = static_cast<ibv_wc_status>(from.status);
  to.opcode = static_cast<ibv_wc_opcode>(from.opcode);
  to.vendor_err = 0;
  to.byte_len = from.byte_len;
  to.imm_data = from.imm_data;
  to.qp_num = from.source->qp_num;
  to.src_qp = from.src_qp;
  to.wc_flags = from.wc_flags;
  to.pkey_index = 0;
  to.slid = 0;
  to.sl = from.sl;
  to.dlid_path_bits = 0;
}

// Waits until the application acknowledged as many events as it was given.
void wait_for_acks(CompletionQueue& cq, std::uint64_t events, std::uint64_t async_events) {
  pthread_mutex_lock(&cq.ibv.mutex);
  while (cq.ibv.comp_events_completed != static_cast<std::uint32_t>(events) ||
         cq.ibv.async_events_completed != static_cast<std::uint32_t>(async_events)) {
    pthread_cond_wait(&cq.ibv.cond, &cq.ibv.mutex);
  }
  pthread_mutex_unlock(&cq.ibv.mutex);
}

// The extended poll. The consumer lock is held from a successful start_poll to end_poll.

// Looks at the wire, too, if nothing is there.
bool is_empty(const CompletionQueue& cq) {
  return cq.looks_empty() && (!wire::Progress::poll() || cq.looks_empty());
}

bool take_current(CompletionQueue& cq) {
  if (!cq.pop(cq.current)) {
    return false;
  }
  cq.ibv.wr_id = cq.current.wr_id;
  cq.ibv.status = static_cast<ibv_wc_status>(cq.current.status);
  return true;
}

int start_poll(ibv_cq_ex* handle, ibv_poll_cq_attr* attributes) {
  if (attributes != nullptr && attributes->comp_mask != 0) {
    return EINVAL;
  }
  CompletionQueue& cq = *CompletionQueue::from(handle);
  if (is_empty(cq)) {
    return ENOENT;
  }
  cq.consumer_lock.lock();
  if (take_current(cq)) {
    return 0;
  }
  cq.consumer_lock.unlock();
  return ENOENT;
}

int next_poll(ibv_cq_ex* handle) {
  return take_current(*CompletionQueue::from(handle)) ? 0 : ENOENT;
}

void end_poll(ibv_cq_ex* handle) {
  CompletionQueue::from(handle)->consumer_lock.unlock();
}

const Completion& current(ibv_cq_ex* handle) {
  return CompletionQueue::from(handle)->current;
}

}  // namespace

void install_readers(ibv_cq_ex& cq) {
  cq.start_poll = start_poll;
  cq.next_poll = next_poll;
  cq.end_poll = end_poll;
  cq.read_opcode = [](ibv_cq_ex* at) { return static_cast<ibv_wc_opcode>(current(at).opcode); };
  cq.read_vendor_err = [](ibv_cq_ex*) -> std::uint32_t { return 0; };
  cq.read_byte_len = [](ibv_cq_ex* at) { return current(at).byte_len; };
  cq.read_imm_data = [](ibv_cq_ex* at) { return current(at).imm_data; };
  cq.read_qp_num = [](ibv_cq_ex* at) { return current(at).source->qp_num; };
  cq.read_src_qp = [](ibv_cq_ex* at) { return current(at).src_qp; };
  cq.read_wc_flags = [](ibv_cq_ex* at) -> unsigned { return current(at).wc_flags; };
  cq.read_slid = [](ibv_cq_ex*) -> std::uint32_t { return 0; };
  cq.read_sl = [](ibv_cq_ex* at) { return current(at).sl; };
  cq.read_dlid_path_bits = [](ibv_cq_ex*) -> std::uint8_t { return 0; };
  cq.read_completion_ts = [](ibv_cq_ex* at) { return current(at).timestamp_ns; };
  cq.read_completion_wallclock_ns = [](ibv_cq_ex* at) { return current(at).timestamp_ns; };
}

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes) {
  const bool has_flags = (attributes->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0;
  const bool has_pd = (attributes->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0;
  if ((attributes->comp_mask &
       ~static_cast<std::uint32_t>(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD)) != 0) {
    errno = EINVAL;
    return nullptr;
  }
  if ((attributes->wc_flags & ~supported_wc_flags) != 0 ||
      (attributes->wc_flags & clock_wc_flags) == clock_wc_flags ||
      (has_flags && (attributes->flags & ~supported_cq_flags) != 0)) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  // As the man page has it, this must be a parent domain.
  if (has_pd &&
      (attributes->parent_domain == nullptr || ProtectionDomain::from(attributes->parent_domain)->parent ==
                                                   ProtectionDomain::from(attributes->parent_domain))) {
    errno = EINVAL;
    return nullptr;
  }
  CompletionQueue* const cq =
      create(context, attributes->cqe, attributes->cq_context, attributes->channel, attributes->comp_vector);
  if (cq == nullptr) {
    return nullptr;
  }
  cq->timestamps = (attributes->wc_flags & clock_wc_flags) != 0;
  cq->wallclock = (attributes->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK) != 0;
  if (has_pd) {
    cq->parent_domain = attributes->parent_domain;
    ProtectionDomain::from(cq->parent_domain)->users.fetch_add(1);
  }
  install_readers(cq->ibv);
  return &cq->ibv;
}

int poll_cq(ibv_cq* handle, int count, ibv_wc* completions) {
  CompletionQueue& cq = *CompletionQueue::from(handle);
  if (is_empty(cq)) {
    return 0;
  }
  const std::scoped_lock lock(cq.consumer_lock);
  int taken = 0;
  Completion completion;
  while (taken < count && cq.pop(completion)) {
    translate(completion, completions[taken++]);
  }
  return taken;
}

int req_notify_cq(ibv_cq* handle, int solicited_only) {
  CompletionQueue::from(handle)->arm(solicited_only != 0);
  wire::Progress::note_armed();
  return 0;
}

}  // namespace rkv::soft

using namespace rkv::soft;

RKV_SOFT_EXPORT ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  if (!is_soft(context)) {
    return RKV_SOFT_NEXT(ibv_create_comp_channel, "IBVERBS_1.0", context);
  }
  auto* const channel = new (std::nothrow) CompletionChannel;
  if (channel == nullptr || channel->tokens.fd() < 0) {
    const int error = channel == nullptr ? ENOMEM : errno;
    delete channel;
    errno = error;
    return nullptr;
  }
  channel->ibv = {.context = context, .fd = channel->tokens.fd(), .refcnt = 0};
  Context::from(context)->hold();
  return &channel->ibv;
}

RKV_SOFT_EXPORT int ibv_destroy_comp_channel(ibv_comp_channel* handle) {
  if (!is_soft(handle->context)) {
    return RKV_SOFT_NEXT(ibv_destroy_comp_channel, "IBVERBS_1.0", handle);
  }
  CompletionChannel* const channel = CompletionChannel::from(handle);
  {
    const std::scoped_lock lock(channel->mutex);
    if (handle->refcnt != 0) {
      return EBUSY;
    }
  }
  Context::from(handle->context)->drop();
  delete channel;
  return 0;
}

RKV_SOFT_EXPORT int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  if (!is_soft(channel->context)) {
    return RKV_SOFT_NEXT(ibv_get_cq_event, "IBVERBS_1.1", channel, cq, cq_context);
  }
  CompletionQueue* const with_event = CompletionChannel::from(channel)->pop();
  if (with_event == nullptr) {
    return -1;
  }
  *cq = ibv_cq_ex_to_cq(&with_event->ibv);
  *cq_context = with_event->ibv.cq_context;
  return 0;
}

RKV_SOFT_EXPORT ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* cq_context,
                                      ibv_comp_channel* channel, int comp_vector) {
  if (!is_soft(context)) {
    return RKV_SOFT_NEXT(ibv_create_cq, "IBVERBS_1.1", context, entries, cq_context, channel, comp_vector);
  }
  CompletionQueue* const cq = create(context, entries, cq_context, channel, comp_vector);
  return cq == nullptr ? nullptr : ibv_cq_ex_to_cq(&cq->ibv);
}

RKV_SOFT_EXPORT int ibv_resize_cq(ibv_cq* cq, int entries) {
  if (!is_soft(cq->context)) {
    return RKV_SOFT_NEXT(ibv_resize_cq, "IBVERBS_1.1", cq, entries);
  }
  if (entries < 1 || entries > static_cast<int>(limits::max_cqe)) {
    return EINVAL;
  }
  return CompletionQueue::from(cq)->resize(static_cast<std::uint32_t>(entries));
}

RKV_SOFT_EXPORT int ibv_destroy_cq(ibv_cq* handle) {
  if (!is_soft(handle->context)) {
    return RKV_SOFT_NEXT(ibv_destroy_cq, "IBVERBS_1.1", handle);
  }
  CompletionQueue* const cq = CompletionQueue::from(handle);
  if (cq->users.load() != 0) {
    return EBUSY;
  }
  Backoff backoff;
  while (cq->pins.load(std::memory_order_acquire) != 0) {
    backoff.pause();
  }
  Context* const context = Context::from(handle->context);
  if (handle->channel != nullptr) {
    CompletionChannel::from(handle->channel)->remove(*cq);
  }
  wait_for_acks(*cq, cq->delivered_events, context->remove_events(cq->delivered_async_events));
  if (handle->channel != nullptr) {
    const std::scoped_lock lock(CompletionChannel::from(handle->channel)->mutex);
    --handle->channel->refcnt;
  }
  if (cq->parent_domain != nullptr) {
    ProtectionDomain::from(cq->parent_domain)->users.fetch_sub(1);
  }
  pthread_mutex_destroy(&cq->ibv.mutex);
  pthread_cond_destroy(&cq->ibv.cond);
  delete cq;
  context->drop();
  return 0;
}

// ibv_ack_cq_events is libibverbs' own: it works on public fields only.
