// The links between hosts: how long a message takes from one host's card to another's.
//
// Every host has one full-duplex cable, to the other host or, with a switch, to that. A message is cut into
// packets of the MTU; its bytes and each packet's headers pass a cable at its bandwidth, first come first
// served. It passes a switch cut-through: the second cable starts when the first byte comes, or when it is
// free.
//
//   arrival = start + latency [+ switch + latency] + bytes / bandwidth      (one message alone)
//
// Latency and bandwidth are read from the SimGrid platform (engine/platform.hpp), whose links these are.
// Messages of flow_bytes and more are handed to SimGrid's own flow-level model instead.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "backends/sim/engine/world.hpp"
#include "backends/sim/profile/profile.hpp"

namespace rkv::sim {

// One host's cable, as the platform has it.
struct Cable {
  Ps latency = 0;
  double ps_per_byte = 0;
};

class Network {
 public:
  // Starts a transfer in SimGrid; `arrived` is to be called in the world's time at which it ends.
  using Flow = std::function<void(std::uint32_t from, std::uint32_t to, std::uint64_t wire_bytes,
                                  EventHandler& handler, std::uint64_t tag)>;

  // A cable a host. flow: may be empty where flow_bytes is 0.
  Network(World& world, const NetworkProfile& profile, std::vector<Cable> cables, Flow flow);

  // Sends now: on_event(tag) of the handler is called when the last byte is there. Gives the time at which
  // the last byte has left the sender's cable. `payload_bytes` is the message's, `header_bytes` each
  // packet's. Within one host it is there at once.
  Ps send(std::uint32_t from, std::uint32_t to, std::uint64_t payload_bytes, std::uint32_t header_bytes,
          EventHandler& handler, std::uint64_t tag);

  // What becomes of a message on a transport that may lose it, drawn at random.
  struct Fate {
    bool lost = false;
    bool duplicated = false;
    Ps delay = 0;  // reordered: held back so long at the receiver
  };
  [[nodiscard]] Fate draw_fate(std::uint64_t payload_bytes);
  [[nodiscard]] bool perfect() const;

  [[nodiscard]] std::uint64_t packets(std::uint64_t payload_bytes) const;
  [[nodiscard]] const NetworkProfile& profile() const { return profile_; }

 private:
  struct Direction {
    Ps free_at = 0;
  };

  World& world_;
  const NetworkProfile profile_;
  const std::vector<Cable> cables_;
  const Flow flow_;
  std::vector<Direction> out_;  // a host each
  std::vector<Direction> in_;   // behind a switch
};

}  // namespace rkv::sim
