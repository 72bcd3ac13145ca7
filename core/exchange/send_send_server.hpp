// SEND-SEND over RC, UC or UD, server side.
//
// Queue pairs, workers and completion queues are dealt into groups. A group has one receive and one send
// completion queue, which all its queue pairs feed and all its workers take from:
//
//   RC, UC            a group a worker, each with the queue pairs of its clients
//   RC, UC `shared`   one group: every worker takes from one pair of completion queues
//   UD                a group for each shared queue pair, its workers polling the same queues
//                     (as in Troost's benchmark with one queue pair); `shared`: one group of all
//
// Over RC and UC each client has queue pairs of its own (queue_pair.per_client), one behind the other. Its
// responses go over the one that the request came over.
//
// A worker's use of one queue pair is a lane (core/posting/send_lane.hpp) with response buffers of its own,
// so workers that share a queue pair share no buffer.
//
// A worker posts receives of a queue pair anew `receive_batch` together: of each of its queue pairs, up to
// one less wait with it, and the scenario's check has them posted beyond the window.
//
// With receives_after_drain it posts them when a look finds no request, one by one: in the buffers of the
// requests that it has answered since.
//
// With a shared_receive_queue there is one receive queue for all queue pairs. Each worker posts anew what the
// completions that it takes have used up, up to `receive_batch` together of its own. Any of the group's
// completion queues may get all of them.
//
// Responses over one queue pair to requests that a worker took by one look at its completion queue go in
// chains of `doorbell_batch` at most. None waits for a request that has not come: with the completion modes
// that take one completion at a time (busy, event) each response is posted by itself.
//
// A queue pair that failed is connected anew where its backend offers that (reconnection.hpp). Its worker
// answers nobody over it, collects its receives as they are flushed, takes what is left of its sends and says
// that it is down; from then on until it is connected it is the connecting thread's.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/completion/waiter.hpp"
#include "core/exchange/verbs_server.hpp"
#include "core/posting/receive_chain.hpp"
#include "core/posting/send_chain.hpp"
#include "core/posting/send_lane.hpp"

namespace rkv {

class SendSendHub final : public VerbsHub, private ServerLinks {
 public:
  SendSendHub(const Port& port, const Scenario& scenario, std::uint32_t clients, std::uint32_t workers,
              OnLinkDown on_link_down = {});

  [[nodiscard]] Endpoint endpoint(std::uint32_t client) const override;
  void connect(std::uint32_t client, const Endpoint& peer) override;
  std::unique_ptr<ServerExchange> make_worker(std::uint32_t worker, const StopFlag& stop) override;
  [[nodiscard]] ServerLinks* links() override { return reconnects() ? this : nullptr; }

 private:
  friend class SendSendWorker;

  struct Session {
    Endpoint peer;
    std::uint32_t queue_pair = 0;            // index of the first
    std::unique_ptr<AddressHandle> address;  // UD
  };
  struct Group {
    std::unique_ptr<CompletionQueue> sends;
    std::unique_ptr<CompletionQueue> receives;
    std::uint32_t workers = 0;
  };
  struct Lane {
    Lane(std::uint32_t depth, const QueuePairOptions& options)
        : sends(depth, options.signal_interval),
          responses(options.doorbell_batch),
          receives(options.receive_batch) {}
    SendLane sends;
    SendChain responses;    // the last of the sends
    ReceiveChain receives;  // of those that its worker posts anew
    std::uint32_t queue_pair = 0;
    std::size_t buffers_at = 0;  // of its first response buffer
  };

  // Of a queue pair.
  enum class Health : std::uint8_t { connected, failed, down, broken };
  struct Link {
    std::atomic<Health> health{Health::connected};
    bool lost = true;                     // of one that failed: by loss, and nothing else that was wrong
    std::vector<std::uint32_t> unposted;  // its receive buffers, while it is not connected
  };

  [[nodiscard]] State state(std::uint32_t client) const override;
  void fail(std::uint32_t client) override;
  [[nodiscard]] Endpoint connect_anew(std::uint32_t client, const Endpoint& peer) override;

  [[nodiscard]] bool shares_receives() const { return shared_receives_ != nullptr; }
  // Where receives of this queue pair are posted.
  [[nodiscard]] ReceiveQueue& receive_queue(std::uint32_t queue_pair) {
    return shares_receives() ? static_cast<ReceiveQueue&>(*shared_receives_) : *queue_pairs_[queue_pair];
  }
  // The queue pair that a receive's completion is of.
  [[nodiscard]] std::uint32_t queue_pair_of(const Completion& completion) const;
  [[nodiscard]] bool reconnects() const { return static_cast<bool>(on_link_down_); }
  [[nodiscard]] ReceiveRequest receive_into(std::uint32_t queue_pair, std::uint32_t buffer) const;
  [[nodiscard]] bool post_receive(std::uint32_t queue_pair, std::uint32_t buffer);
  // Queue pairs are dealt out to groups by what belongs together: those of a client.
  [[nodiscard]] std::size_t group_of(std::size_t queue_pair) const {
    return queue_pair / together_ % groups_.size();
  }
  // The lane of this worker on this queue pair of its group.
  [[nodiscard]] std::uint32_t lane_index(std::uint32_t worker, std::uint32_t queue_pair) const {
    const std::size_t in_group = queue_pair / together_ / groups_.size() * together_ + queue_pair % together_;
    return static_cast<std::uint32_t>(std::size_t{worker} * lanes_a_worker_ + in_group);
  }
  [[nodiscard]] Lane& lane(std::uint32_t worker, std::uint32_t queue_pair) {
    return *lanes_[lane_index(worker, queue_pair)];
  }
  [[nodiscard]] std::span<const std::unique_ptr<QueuePair>> queue_pairs_of(std::uint32_t client) const {
    return std::span(queue_pairs_).subspan(sessions_[client].queue_pair, together_);
  }

  const Port port_;
  const Scenario scenario_;
  const MessageFormat format_;
  const std::uint32_t take_;
  const std::uint32_t together_;  // queue pairs of a client of its own
  const std::uint32_t receive_stride_;
  const std::uint32_t response_stride_;

  std::unique_ptr<MemoryRegion> receive_buffers_;
  std::unique_ptr<MemoryRegion> response_buffers_;
  std::uint32_t first_spare_ = 0;  // receive buffers from here on belong to the workers, take_ each
  std::vector<Group> groups_;
  std::unique_ptr<SharedReceiveQueue> shared_receives_;  // null: each queue pair has its own
  std::vector<std::unique_ptr<QueuePair>> queue_pairs_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>>
      by_number_;                             // those that share receives; index; sorted
  std::vector<Link> links_;                   // a queue pair each
  std::vector<std::unique_ptr<Lane>> lanes_;  // lanes_a_worker_ for each worker
  std::uint32_t lanes_a_worker_ = 0;
  std::vector<Session> sessions_;  // a client each
  std::unique_ptr<Mutex> receive_lock_;
  const OnLinkDown on_link_down_;
};

}  // namespace rkv
