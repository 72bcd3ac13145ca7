// One point of workload verbs whose both sides are of this process: the two handed their endpoints directly.
//
// Used by one thread: construct, start, watch, collect. stop() may be called by any thread.
#pragma once

#include <cstdint>

#include "core/verbs_load/verbs_load_side.hpp"

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
  [[nodiscard]] std::uint64_t operations_done() const { return clients_.operations_done(); }
  [[nodiscard]] bool finished() const { return clients_.finished(); }
  // Waits for all clients and sums up those of the clients' side. `epoch` is what the measured window is
  // counted from.
  PointResult collect(Instant epoch);

 private:
  VerbsLoadSide clients_;
  VerbsLoadSide server_;
};

}  // namespace rkv
