// The queue pairs of a group of clients and the completion queue behind them. Each client may be a group of
// its own, or several have them in common, as threads do that multiplex their requests (Ren et al., "Scaling
// up memory disaggregated applications with SMART", ASPLOS 2024, compares). Whoever looks at a queue that
// several have in common takes what is there, also what is another member's: that goes to the member's box.
//
// Each queue pair receives what the other side SENDs, where that is the operation (receiver.hpp).
//
// Boxes may be used by all members at once; the rest is set up before they start. Made on a Port, which must
// outlive it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/exchange/connections.hpp"
#include "core/port/wait.hpp"
#include "core/scenario/scenario.hpp"

namespace rkv {

// What clients ask of their device: the requests that a queue pair may hold, and the completions that may
// wait to be taken, for so many members of a group.
[[nodiscard]] std::uint64_t verbs_load_send_depth(const Scenario& scenario, std::uint32_t members);
[[nodiscard]] std::uint64_t verbs_load_completion_depth(const Scenario& scenario, std::uint32_t members);
// Receives on all queue pairs of a group, which may complete before any is taken.
[[nodiscard]] std::uint64_t verbs_load_receives(const Scenario& scenario);

// How many members the largest group of so many clients has.
[[nodiscard]] std::uint32_t largest_group(const Scenario& scenario, std::uint32_t clients);
// How many groups a process's clients are in.
[[nodiscard]] std::uint32_t verbs_load_groups(const Scenario& scenario, std::uint32_t clients);
// Threads of a side that receive what the other SENDs over so many groups; 0 where that is not the operation.
[[nodiscard]] std::uint32_t verbs_load_receivers(const Scenario& scenario, std::uint32_t groups);

// Ends of a client's operations that others took from the queue, by slot.
class EndBox {
 public:
  explicit EndBox(std::uint32_t slots) : ends_(slots) {}

  // By any member.
  void put(std::uint32_t slot, CompletionStatus status);
  // By the client, whose requests are of these slots: calls take(slot, status) for each end in the box.
  template <typename Take>
  void empty(const Take& take) {
    if (waiting_.load(std::memory_order_acquire) == 0) return;
    for (std::uint32_t slot = 0; slot < ends_.size(); ++slot) {
      const int end = ends_[slot].exchange(none, std::memory_order_acquire);
      if (end == none) continue;
      waiting_.fetch_sub(1, std::memory_order_relaxed);
      take(slot, static_cast<CompletionStatus>(end));
    }
  }

 private:
  static constexpr int none = -1;
  struct End : std::atomic<int> {
    End() : std::atomic<int>(none) {}
  };

  alignas(64) std::atomic<std::uint32_t> waiting_{0};
  std::vector<End> ends_;
};

class QueueGroup {
 public:
  QueueGroup(const Port& port, const Scenario& scenario, std::uint32_t members);

  [[nodiscard]] std::uint32_t queue_pairs() const { return static_cast<std::uint32_t>(pairs_.size()); }
  [[nodiscard]] QueuePair& queue_pair(std::uint32_t index) { return *pairs_[index]; }
  // What a peer must know to connect as many to them.
  [[nodiscard]] Endpoint endpoint() const { return endpoint_of(pairs_); }
  // Throws rkv::Error where the peer has not as many.
  void connect(const Endpoint& peer) { connect_all(pairs_, peer); }
  [[nodiscard]] CompletionQueue& completions() { return *completions_; }
  // Of SENDs that the other side posts; only where these are the operation.
  [[nodiscard]] CompletionQueue& receives() { return *receives_; }
  [[nodiscard]] bool in_common() const { return boxes_.size() > 1; }
  [[nodiscard]] EndBox& box(std::uint32_t member) { return boxes_[member]; }

  // A request's id: whose it is, and which of its slots.
  [[nodiscard]] static std::uint64_t id(std::uint32_t member, std::uint32_t slot) {
    return std::uint64_t{member} << 32 | slot;
  }
  [[nodiscard]] static std::uint32_t member_of(std::uint64_t id) {
    return static_cast<std::uint32_t>(id >> 32);
  }
  [[nodiscard]] static std::uint32_t slot_of(std::uint64_t id) { return static_cast<std::uint32_t>(id); }

 private:
  std::unique_ptr<CompletionQueue> completions_;
  std::unique_ptr<CompletionQueue> receives_;
  std::vector<std::unique_ptr<QueuePair>> pairs_;
  std::deque<EndBox> boxes_;  // by member
};

}  // namespace rkv
