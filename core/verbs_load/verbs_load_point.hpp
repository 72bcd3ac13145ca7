// One point of workload verbs: clients on one side or on both, the memory that each side exposes, or the
// threads that receive what the other SENDs, and the queue pairs between them, which both directions use, as
// in rc_swarm. Both sides are of this process.
//
// Used by one thread: construct, start, watch, collect. stop() may be called by any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/report/result.hpp"
#include "core/verbs_load/verbs_load_client.hpp"

namespace rkv {

class VerbsLoadPoint {
 public:
  // Makes and connects everything. Throws rkv::Error for what a device refuses.
  VerbsLoadPoint(const Port& clients_port, const Port& servers_port, const Scenario& scenario,
                 std::uint32_t clients);
  ~VerbsLoadPoint();  // stops

  // Starts all clients; their schedule counts from `start`.
  void start(Instant start);
  void stop();
  // Of the clients' side.
  [[nodiscard]] std::uint64_t operations_done() const;  // so far, warm-up included
  [[nodiscard]] bool finished() const;                  // whether every client has ended
  // Waits for all clients and sums up those of the clients' side. `epoch` is what the measured window is
  // counted from.
  PointResult collect(Instant epoch);

 private:
  // The clients on one side, and what the other side's clients need there.
  struct Side;
  void start_clients(Side& side, Side& other, Instant start);
  static void start_receivers(Side& side);

  const Scenario scenario_;
  const std::uint32_t clients_;
  std::unique_ptr<Side> clients_side_;
  std::unique_ptr<Side> servers_side_;
};

}  // namespace rkv
