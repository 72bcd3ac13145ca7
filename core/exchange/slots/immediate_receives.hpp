// What WRITEs with immediate take at the side whose slots they go to: receives of no bytes, on each of one
// client's queue pairs. Each is posted anew when it was used up, or with a receive_batch when so many can be
// together.
//
// One thread's, once they are posted. post_anew() does not allocate or throw.
#pragma once

#include <cstdint>
#include <vector>

#include "core/error.hpp"
#include "core/exchange/connections.hpp"
#include "core/exchange/layout.hpp"
#include "core/posting/receive_chain.hpp"

namespace rkv {

class ImmediateReceives {
 public:
  // A receive on connection i has the owner first_owner + i in its id.
  ImmediateReceives(const QueuePairOptions& options, std::uint32_t first_owner)
      : depth_(options.receive_depth),
        first_owner_(first_owner),
        chains_(options.per_client, ReceiveChain(options.receive_batch)) {}

  // Before the connections are connected. Throws rkv::Error.
  void post(Connections& connections) const {
    for (std::uint32_t i = 0; i < connections.count(); ++i) {
      for (std::uint32_t n = 0; n < depth_; ++n) {
        if (connections.queue_pair(i).post_receive({.id = request_id(first_owner_ + i, n)}) != 0) {
          throw Error("the receives for WRITEs with immediate could not be posted");
        }
      }
    }
  }

  // For one that this connection's peer has used up. False: refused.
  [[nodiscard]] bool post_anew(Connections& connections, std::uint32_t connection) {
    return chains_[connection].add(connections.queue_pair(connection),
                                   {.id = request_id(first_owner_ + connection, 0)});
  }

 private:
  std::uint32_t depth_;
  std::uint32_t first_owner_;
  std::vector<ReceiveChain> chains_;  // a connection each
};

}  // namespace rkv
