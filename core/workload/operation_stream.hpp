// The operations that one client asks for, one after another, without end.
//
// A stream is determined by the scenario, its seed, the client and the number of clients: nothing that
// happens in the run changes it. It belongs to one thread and allocates nothing after its construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/message/protocol.hpp"
#include "core/port/runtime.hpp"
#include "core/scenario/scenario.hpp"
#include "core/workload/key_space.hpp"
#include "core/workload/permutation.hpp"
#include "core/workload/rng.hpp"
#include "core/workload/zipf.hpp"

namespace rkv {

struct Operation {
  Method method = Method::get;  // get, set, del or ping, which has no key
  std::uint64_t key_id = 0;     // see key_space.hpp
  std::uint64_t version = 0;    // set: how many SETs this client has asked for, this one included
  std::uint32_t key_bytes = 0;
  std::uint32_t value_bytes = 0;  // set: of the value; else 0
};

// A client's share of a total: as even as can be, the first clients taking what is left over.
[[nodiscard]] constexpr std::uint64_t share_of(std::uint64_t total, std::uint32_t client,
                                               std::uint32_t clients) {
  return total / clients + (client < total % clients ? 1 : 0);
}

// The part of SETs in the thesis's operations: `rand() % 100 <= 5`.
inline constexpr double thesis_set_share = 0.06;

class OperationStream {
 public:
  // client < clients
  OperationStream(const Scenario& scenario, std::uint32_t client, std::uint32_t clients);

  // Only for the thesis's operations: the next one is number `operations` of this client, counted from 0, as
  // though those before had been drawn. What is drawn is of the same law, not the same sequence.
  void continue_at(std::uint64_t operations) { count_ = operations; }

  // The next operation; its key is written to the start of `key_out` and, for a SET, its value to the start
  // of `value_out`, which hold largest_key_bytes and largest_value_bytes of the scenario. Bytes written are
  // counted into `work`.
  Operation next(std::span<std::byte> key_out, std::span<std::byte> value_out, Work& work);

 private:
  struct Choice {
    Method method;
    std::uint64_t index;
  };

  Choice choose();
  Choice choose_of_thesis();
  std::uint64_t choose_index();

  KeyOptions options_;
  std::uint32_t client_;
  KeySpace keys_;
  SizeSampler value_size_;
  ZipfDistribution zipf_;
  Permutation permutation_;
  Rng operation_rng_;
  Rng key_rng_;
  Rng value_size_rng_;
  double get_below_;  // of a number in [0, 1): thresholds of the mix
  double set_below_;
  double del_below_;
  double ping_below_;
  std::uint64_t count_ = 0;                // operations so far
  std::uint64_t versions_ = 0;             // SETs so far
  std::uint64_t position_ = 0;             // sequential: the next index; latest: the client's keys
  std::optional<std::uint64_t> to_write_;  // read-modify-write: the key whose SET comes next
};

}  // namespace rkv
