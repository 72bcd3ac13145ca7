#include "backends/verbs/port/completion_queue.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "backends/verbs/port/completion_status.hpp"
#include "backends/verbs/port/system_error.hpp"

namespace rkv::verbs {
namespace {

constexpr std::size_t poll_batch = 16;  // completions asked for in one ibv_poll_cq, on the stack
// Acknowledging takes a lock in libibverbs, so it is done for many events together.
constexpr std::uint32_t acknowledge_batch = 256;

ibv_comp_channel* make_channel(ibv_context* context, const std::string& device) {
  ibv_comp_channel* channel = ::ibv_create_comp_channel(context);
  if (channel == nullptr) throw system_error(device, "ibv_create_comp_channel", errno);
  const int flags = ::fcntl(channel->fd, F_GETFL);
  if (flags < 0 || ::fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    const int failure = errno;
    ::ibv_destroy_comp_channel(channel);
    throw system_error(device, "fcntl of a completion channel", failure);
  }
  return channel;
}

}  // namespace

VerbsCompletionQueue::VerbsCompletionQueue(ibv_context* context, std::string device, std::uint32_t depth,
                                           bool blockable)
    : device_(std::move(device)), watch_(blockable ? 0 : depth) {
  if (blockable) {
    hand_over_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE));
    if (!hand_over_.valid()) throw system_error(device_, "eventfd", errno);
    channel_ = make_channel(context, device_);
  }
  queue_ = ::ibv_create_cq(context, static_cast<int>(depth), nullptr, channel_, 0);
  if (queue_ == nullptr) {
    const int failure = errno;
    if (channel_ != nullptr) ::ibv_destroy_comp_channel(channel_);
    throw system_error(device_, fmt::format("ibv_create_cq of {} entries", depth), failure);
  }
}

VerbsCompletionQueue::~VerbsCompletionQueue() {
  // libibverbs waits in ibv_destroy_cq until every event was acknowledged.
  if (const std::uint32_t events = unacknowledged_events_.load()) ::ibv_ack_cq_events(queue_, events);
  ::ibv_destroy_cq(queue_);
  if (channel_ != nullptr) ::ibv_destroy_comp_channel(channel_);
}

void VerbsCompletionQueue::attach_receives(Transport transport) {
  const auto headroom = static_cast<std::int32_t>(rkv::receive_headroom_bytes(transport));
  std::int32_t current = -1;
  if (!receive_headroom_bytes_.compare_exchange_strong(current, headroom) && current != headroom) {
    throw Error(device_ + ": UD and connected queue pairs cannot receive into one completion queue");
  }
}

std::uint32_t VerbsCompletionQueue::take(std::span<Completion> out) {
  if (!watch_.idle()) {
    return watch_.take(out, [this](std::span<Completion> room) { return poll(room); });
  }
  std::uint32_t count = 0;
  Spare full = Spare::full;
  if (!out.empty() && spare_state_.load(std::memory_order_relaxed) == Spare::full &&
      spare_state_.compare_exchange_strong(full, Spare::busy, std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
    out[count++] = spare_;
    spare_state_.store(Spare::empty, std::memory_order_release);
  }
  return count + poll(out.subspan(count));
}

std::uint32_t VerbsCompletionQueue::poll(std::span<Completion> out) {
  std::array<ibv_wc, poll_batch> entries;
  std::uint32_t count = 0;
  while (count < out.size()) {
    const auto wanted = static_cast<int>(std::min(out.size() - count, entries.size()));
    const int found = ::ibv_poll_cq(queue_, wanted, entries.data());
    if (found < 0) throw system_error(device_, "ibv_poll_cq", found == -1 ? EIO : -found);
    for (int i = 0; i < found; ++i) out[count++] = translate(entries[static_cast<std::size_t>(i)]);
    if (found < wanted) break;
  }
  return count;
}

Completion VerbsCompletionQueue::translate(const ibv_wc& entry) {
  Completion completion;
  completion.id = entry.wr_id;
  completion.status = completion_status(entry.status, one_sided_.load(std::memory_order_relaxed));
  completion.queue_pair = entry.qp_num;
  // With an error no other field of the entry is valid; a send's length is not reported.
  if (entry.status == IBV_WC_SUCCESS && entry.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
    completion.immediate = ntohl(entry.imm_data);  // its bytes are in exposed memory
  } else if (entry.status == IBV_WC_SUCCESS && (entry.opcode & IBV_WC_RECV) != 0) {
    const std::int32_t headroom = receive_headroom_bytes_.load(std::memory_order_relaxed);
    completion.bytes = entry.byte_len - static_cast<std::uint32_t>(std::max(headroom, 0));
    if (headroom > 0) completion.source_queue_pair = entry.src_qp;
  }
  if (completion.status != CompletionStatus::ok) watch_.fail(completion.queue_pair, completion.id);
  return completion;
}

void VerbsCompletionQueue::arm() {
  if (armed_.load(std::memory_order_acquire)) return;
  if (!armed_.exchange(true, std::memory_order_acq_rel)) request_event();
}

void VerbsCompletionQueue::request_event() {
  if (const int failure = ::ibv_req_notify_cq(queue_, 0); failure != 0) {
    throw system_error(device_, "ibv_req_notify_cq", failure < 0 ? errno : failure);
  }
}

void VerbsCompletionQueue::consume_event() {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  while (::ibv_get_cq_event(channel_, &queue, &context) != 0) {
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return;  // another thread was quicker
    throw system_error(device_, "ibv_get_cq_event", errno);
  }
  if (unacknowledged_events_.fetch_add(1, std::memory_order_acq_rel) + 1 >= acknowledge_batch) {
    const std::uint32_t events = unacknowledged_events_.exchange(0, std::memory_order_acq_rel);
    if (events > 0) ::ibv_ack_cq_events(queue_, events);
  }
  request_event();
}

void VerbsCompletionQueue::consume_hand_over() {
  std::uint64_t token = 0;
  // Nothing to read: another thread was quicker.
  [[maybe_unused]] const auto bytes = ::read(hand_over_.get(), &token, sizeof token);
}

void VerbsCompletionQueue::pass_on_rest() {
  if (sleepers_.fetch_add(0, std::memory_order_acq_rel) == 0) return;
  Spare empty = Spare::empty;
  if (spare_state_.compare_exchange_strong(empty, Spare::busy, std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
    if (poll(std::span(&spare_, 1)) == 0) {
      spare_state_.store(Spare::empty, std::memory_order_release);
      return;
    }
    spare_state_.store(Spare::full, std::memory_order_release);
  }
  const std::uint64_t token = 1;
  // Fails only when 2^64 - 2 tokens wait already.
  [[maybe_unused]] const auto bytes = ::write(hand_over_.get(), &token, sizeof token);
}

}  // namespace rkv::verbs
