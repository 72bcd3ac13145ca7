// One point of a one-sided study: clients on one side or on both, the memory that each side exposes, and the
// queue pairs between them, which both directions use, as in rc_swarm. Both sides are of this process.
//
// Used by one thread: construct, start, watch, collect. stop() may be called by any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/one_sided/one_sided_client.hpp"
#include "core/report/result.hpp"

namespace rkv {

class OneSidedPoint {
 public:
  // Makes and connects everything. Throws rkv::Error for what a device refuses.
  OneSidedPoint(const Port& clients_port, const Port& servers_port, const Scenario& scenario,
                std::uint32_t clients);
  ~OneSidedPoint();  // stops

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
  // The clients on one side and the memory there.
  struct Side;

  const Scenario scenario_;
  const std::uint32_t clients_;
  std::unique_ptr<Side> clients_side_;
  std::unique_ptr<Side> servers_side_;
};

}  // namespace rkv
