// Clients that take turns: only one group of them issues at a time, so that no more queue pairs are in use
// than a card keeps the contexts of (connection grouping: Chen, Lu, Shu, "Scalable RDMA RPC on reliable
// connection with efficient resource sharing", EuroSys 2019, ScaleRPC, where the server gives the turns; here
// the clients' clock does, which they must have in common: of one host, or a simulation's).
//
// A group may begin `overlap` before its turn, as ScaleRPC's warm-up has it: its queue pairs' contexts and
// first requests are there when the others end.
#pragma once

#include <cstdint>

#include "core/port/time.hpp"
#include "core/scenario/scenario.hpp"

namespace rkv {

class Turns {
 public:
  // Of client number `client` of `clients`.
  Turns(const TurnOptions& options, std::uint32_t client, std::uint32_t clients);

  // `time`, if it is this client's turn then, else the start of its next one. Any time from the clock's zero
  // on.
  [[nodiscard]] Instant next(Instant time) const;
  // Whether there are times that are not its turn.
  [[nodiscard]] bool taken() const { return groups_ > 1; }

 private:
  std::uint32_t groups_ = 1;
  Duration period_{0};  // from a turn's start to the next one's
  Duration first_{0};   // of the first whole turn
  Duration length_{0};
};

}  // namespace rkv
