// One side of a point of workload verbs: the queue pairs that clients of it or of the other side use, the
// memory that the other side's operations go to, or the threads that receive what it SENDs, and the clients:
// on the clients' side always, on the server's with both_ways, where they use the same queue pairs, as in
// rc_swarm.
//
// Clients are in groups that have their queue pairs in common (queue_group.hpp), each of clients of one
// process. Both sides have the same groups; the server's side those of all processes, one process after the
// other.
//
// Used by one thread: construct, connect every group, start receivers and clients, watch, collect clients and
// receivers. stop() may be called by any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/port/wait.hpp"
#include "core/report/result.hpp"
#include "core/verbs_load/queue_group.hpp"
#include "core/verbs_load/receiver.hpp"
#include "core/verbs_load/verbs_load_client.hpp"
#include "core/workload/client_share.hpp"

namespace rkv {

class VerbsLoadSide {
 public:
  enum class Role : std::uint8_t { clients, server };
  // `shares`: of the clients' side its process's, of the server's side those of all processes. What the port
  // names outlives it. Throws rkv::Error for what the device refuses.
  VerbsLoadSide(const Port& port, const Scenario& scenario, Role role, std::vector<ClientShare> shares);
  ~VerbsLoadSide();  // stops

  [[nodiscard]] std::uint32_t groups() const { return static_cast<std::uint32_t>(groups_.size()); }
  // Those of a process's clients.
  [[nodiscard]] std::uint32_t first_group_of(const ClientShare& share) const;
  [[nodiscard]] std::uint32_t groups_of(const ClientShare& share) const;

  // What the other side must know of a group.
  [[nodiscard]] Endpoint endpoint(std::uint32_t group) const;
  // To the other side's endpoint of the same group. Throws rkv::Error where it has not as many queue pairs.
  void connect(std::uint32_t group, const Endpoint& peer);

  // Both do nothing where there is none of them.
  void start_receivers();
  void start_clients(Instant start);                      // their schedule counts from then on
  void stop();                                            // the clients
  [[nodiscard]] std::uint64_t operations_done() const;    // by its clients so far, warm-up included
  [[nodiscard]] bool finished() const;                    // whether every client of it has ended
  [[nodiscard]] std::uint64_t messages_received() const;  // so far

  // Waits for its clients and sums up. `epoch` is what the measured window is counted from.
  PointResult collect_clients(Instant epoch);
  // Of the server's side: stops its clients, waits for them and says what they did. They have no quota of
  // their own to wait for: the other side's have ended.
  struct Returned {
    SideUsage usage;
    std::optional<OtherWay> other_way;  // none: it has no clients
  };
  Returned collect_other_way();
  struct Received {
    SideUsage usage;
    std::uint64_t messages = 0;
    std::string failure;  // why they did not receive to the end; empty: they did
  };
  // Stops the receivers, waits for them and sums up. The other side's clients have ended.
  Received collect_receivers();

 private:
  struct Group {
    std::unique_ptr<QueueGroup> queues;
    RemoteMemory target;  // the other side's
  };
  struct Member {
    alignas(64) std::atomic<std::uint64_t> operations{0};
    std::atomic<bool> finished{false};
    std::uint32_t number = 0;  // in the whole point
    std::uint32_t group = 0;
    std::unique_ptr<VerbsLoadClient> client;
    std::unique_ptr<Thread> thread;  // last: joined before what it uses is destroyed
  };
  struct Receiving {
    std::unique_ptr<Receiver> receiver;
    std::vector<int> cores;
    std::unique_ptr<Thread> thread;
  };

  void make_groups(const ClientShare& share);
  void make_receivers();

  const Port port_;
  const Scenario scenario_;
  const Role role_;
  const std::vector<ClientShare> shares_;
  std::unique_ptr<StopFlag> stop_;
  std::unique_ptr<StopFlag> stop_receiving_;
  std::unique_ptr<MemoryRegion> memory_;  // null: nobody reads or writes it
  std::vector<Group> groups_;
  std::vector<Receiving> receivers_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace rkv
