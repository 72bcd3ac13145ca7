// The exchange patterns over slots (slot_plan.hpp), server side. A client belongs to one worker, which serves
// its clients round robin: it looks at their slots in its own memory, or is told which of them to look at, or
// READs each client's slots, all of them at once, over and over; from one client after the other with
// queue_pair.await_send_completion.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "core/exchange/connections.hpp"
#include "core/exchange/slots/immediate_receives.hpp"
#include "core/exchange/slots/slot_plan.hpp"
#include "core/exchange/verbs_server.hpp"
#include "core/posting/send_lane.hpp"

namespace rkv {

class SlotHub final : public VerbsHub {
 public:
  // workers: no more than there are clients.
  SlotHub(const Port& port, const Scenario& scenario, std::uint32_t clients, std::uint32_t workers);

  [[nodiscard]] Endpoint endpoint(std::uint32_t client) const override;
  void connect(std::uint32_t client, const Endpoint& peer) override;
  std::unique_ptr<ServerExchange> make_worker(std::uint32_t worker, const StopFlag& stop) override;

 private:
  friend class SlotWorker;

  struct Session {
    Session(Connections&& its, const QueuePairOptions& options, std::uint32_t first_owner)
        : connections(std::move(its)), receives(options, first_owner) {}
    Connections connections;     // with lanes of responses, if they are written
    ImmediateReceives receives;  // posted if they tell of requests
    Endpoint peer;
    std::unique_ptr<AddressHandle> datagrams;  // responses that are sent: where to
    bool broken = false;
  };

  // Sessions are numbered by worker: those of one worker lie one behind the other.
  [[nodiscard]] std::uint32_t first_of(std::uint32_t worker) const;
  [[nodiscard]] std::uint32_t sessions_of(std::uint32_t worker) const;
  [[nodiscard]] std::uint32_t session_of(std::uint32_t client) const {
    return first_of(client % workers_) + client / workers_;
  }

  const Port port_;
  const Scenario scenario_;
  const SlotPlan plan_;
  const MessageFormat format_;
  const std::uint32_t clients_;
  const std::uint32_t workers_;
  const std::uint32_t lane_depth_;

  std::vector<std::unique_ptr<CompletionQueue>> completions_;  // a worker each
  std::vector<std::unique_ptr<CompletionQueue>> receives_;     // likewise
  std::vector<std::unique_ptr<CompletionQueue>> no_datagrams_;
  std::vector<std::unique_ptr<QueuePair>> datagrams_;  // a worker each, where responses are sent
  std::deque<SendLane> datagram_lanes_;                // likewise
  std::unique_ptr<MemoryRegion> requests_;             // written by clients, or where READs put them
  std::unique_ptr<MemoryRegion> responses_;            // frames as they are made, lane_depth_ a lane
  std::unique_ptr<MemoryRegion> published_responses_;  // READ by clients
  std::deque<Session> sessions_;                       // by number
};

}  // namespace rkv
