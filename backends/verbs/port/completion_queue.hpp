// A completion queue and, when it is blockable, its event channel and the rules by which several sleeping
// threads share it.
//
// Verbs gives one event for the first completion after each arming, whatever comes behind it. With several
// sleepers that is not enough: the event wakes one thread, which may take one completion and leave others
// for which no further event comes. The invariant that wait sets keep with the functions below:
//
//   while completions are in the queue and a thread sleeps on it, either something that wakes a sleeper is
//   pending (an event in the channel, a token in the hand-over eventfd), or a thread is awake that will look
//   before it leaves its wait, and pass the rest on.
//
// - Arming: the queue is armed by the first thread about to sleep (arm()) and again by whoever consumes an
//   event (consume_event()), before anyone polls. A thread that finds `armed_` set may sleep although the
//   arming thread has not called the device yet: that thread looks after arming, so what came in between is
//   found.
// - A sleeper counts itself (enter_sleep()) before its last look. A taker that may leave completions behind
//   calls pass_on_rest() after it has left the sleepers. Both are read-modify-writes of one counter, so
//   either the taker sees the sleeper and wakes it, or the sleeper's look comes after all that the taker saw.
// - pass_on_rest() takes one more completion and keeps it as `spare_` for the next look, so a thread is woken
//   only when there is something for it: no context switch is made up. When another thread is at the spare,
//   what is left is not known, and a token is written without looking.
// - File descriptors are watched so that an event or token wakes one sleeper, once (event_poll.hpp). There is
//   never more than one event until it is consumed, and who reads one of several tokens is awake and passes
//   the rest on. A thread that is woken reads them and looks even if its deadline has passed or stop is
//   requested; the kernel reports an event that raced with a time-out, so none is lost with a thread that
//   leaves.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "backends/verbs/port/file_descriptor.hpp"
#include "backends/verbs/port/read_watch.hpp"
#include "core/port/device.hpp"
#include "core/port/runtime.hpp"

namespace rkv::verbs {

// Thread-safe, but for watched READs.
class VerbsCompletionQueue final : public CompletionQueue {
 public:
  // Throws rkv::Error.
  VerbsCompletionQueue(ibv_context* context, std::string device, std::uint32_t depth, bool blockable);
  VerbsCompletionQueue(const VerbsCompletionQueue&) = delete;
  VerbsCompletionQueue& operator=(const VerbsCompletionQueue&) = delete;
  ~VerbsCompletionQueue() override;

  [[nodiscard]] ibv_cq* get() const { return queue_; }
  [[nodiscard]] const std::string& device() const { return device_; }
  // Receives of this transport will complete here. One queue cannot mix UD, whose completions count a
  // 40-byte header as received, with RC or UC: throws rkv::Error.
  void attach_receives(Transport transport);
  // READs or WRITEs complete here. From then on what a peer refuses to a queue pair of this queue is taken to
  // be one of these, not a message that is too long: verbs says the same of both.
  void note_one_sided() {
    if (!one_sided_.load(std::memory_order_relaxed)) one_sided_.store(true, std::memory_order_relaxed);
  }

  // Watched READs, for queues that are not blockable (no event comes for them) and that one thread at a time
  // uses. Each takes a place of the queue's depth until it is handed out.
  [[nodiscard]] bool can_watch(std::size_t reads) const { return watch_.holds(reads); }
  void watch(std::uint32_t queue_pair, std::uint64_t id, const std::byte& last) {
    watch_.add(queue_pair, id, last);
  }
  // The queue pair is gone: its READs are not waited for.
  void forget(std::uint32_t queue_pair) {
    if (!watch_.idle()) watch_.forget(queue_pair);
  }

  // One look: up to out.size() completions. Throws rkv::Error when the queue itself failed (overrun).
  [[nodiscard]] std::uint32_t take(std::span<Completion> out);

  // The rest is for blockable queues.

  // The epoll instance of those who sleep for this queue alone and for that stop flag, as long as there are
  // any. EventPoll makes it.
  struct SleepingPlace {
    std::mutex mutex;
    const StopFlag* stop = nullptr;
    std::weak_ptr<const FileDescriptor> epoll;
  };
  [[nodiscard]] SleepingPlace& sleeping_place() { return sleeping_place_; }
  [[nodiscard]] bool blockable() const { return channel_ != nullptr; }
  [[nodiscard]] int channel_fd() const { return channel_->fd; }
  [[nodiscard]] int hand_over_fd() const { return hand_over_.get(); }
  void arm();
  // Takes at most one event off the channel and arms again at once.
  void consume_event();
  // Takes at most one token off hand_over_fd().
  void consume_hand_over();
  void enter_sleep() { sleepers_.fetch_add(1, std::memory_order_acq_rel); }
  void leave_sleep() { sleepers_.fetch_sub(1, std::memory_order_acq_rel); }
  void pass_on_rest();

 private:
  enum class Spare : std::uint8_t { empty, busy, full };

  [[nodiscard]] std::uint32_t poll(std::span<Completion> out);
  [[nodiscard]] Completion translate(const ibv_wc& entry);
  void request_event();

  std::string device_;
  ReadWatch watch_;
  ibv_comp_channel* channel_ = nullptr;
  ibv_cq* queue_ = nullptr;
  SleepingPlace sleeping_place_;
  FileDescriptor hand_over_;                              // an eventfd of tokens
  std::atomic<std::int32_t> receive_headroom_bytes_{-1};  // -1: no queue pair receives here yet
  std::atomic<bool> one_sided_{false};
  std::atomic<bool> armed_{false};
  std::atomic<std::uint32_t> unacknowledged_events_{0};
  std::atomic<std::uint32_t> sleepers_{0};
  std::atomic<Spare> spare_state_{Spare::empty};
  Completion spare_;  // owned by whoever made the state busy
};

}  // namespace rkv::verbs
