// The store of the thesis's workload at some stage of a run, as stand-ins: which keys have been SET, how long
// the chains are and where in them each key stands.
//
// A client that has done i operations has SET each of its keys 0 to i - 1 with the same probability; a hash
// of client, key number and seed decides, so that nothing is kept of a key. Chains are counted out with the
// real hash function, whose values are far from even for such texts. An entry's place in its chain follows
// from how many operations all clients had done when it was SET. One thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backends/sim/run/run_so_far.hpp"
#include "core/store/stand_ins.hpp"
#include "core/workload/operation_stream.hpp"

namespace rkv::sim {

// Of a chain that grows everywhere alike, the part that an operation passes over on average: a GET finds its
// key, half-way on average, if that was SET.
inline constexpr double part_walked_by_get = 1 - thesis_set_share / 2;
inline constexpr double part_walked = (1 - thesis_set_share) * part_walked_by_get + thesis_set_share;

class ThesisStage final : public StandIns {
 public:
  // `run` outlives it and is at the moment of the stage whenever the stage is used.
  ThesisStage(std::uint64_t seed, std::uint32_t clients, std::uint32_t buckets, const RunSoFar& run);

  // Goes to run.operations(), rounded down. Takes a few nanoseconds an operation since the last stage; to an
  // earlier stage, since the beginning.
  void follow();

  // Operations that each client has done.
  [[nodiscard]] std::span<const std::uint64_t> operations() const { return operations_; }
  // Entries of these chains that one of the client's next `ahead` operations passes over, on average: a GET
  // of any of its keys up to then, or a SET of the next one. Keys of more digits than those before fall into
  // other chains, which are shorter. `ahead` is not 0.
  [[nodiscard]] double mean_walk(std::uint32_t client, std::uint64_t ahead) const;

  [[nodiscard]] std::uint64_t entries(std::size_t bucket) const override { return chains_[bucket]; }
  [[nodiscard]] std::uint64_t entries() const override { return entries_; }
  [[nodiscard]] std::uint64_t bytes() const override { return bytes_; }
  [[nodiscard]] std::optional<Found> find(std::span<const std::byte> key,
                                          std::span<std::byte> value_out) const override;

 private:
  struct Texts;

  [[nodiscard]] bool was_set(std::uint32_t client, std::uint64_t count) const;
  void advance(std::uint32_t client, std::uint64_t operations);
  // Entries of the chain that a key is in when it is there, itself left out.
  [[nodiscard]] double mean_chain_of_own(std::uint32_t client) const;
  [[nodiscard]] double mean_chain_ahead(std::uint32_t client, std::uint64_t ahead) const;
  void clear();

  const std::uint64_t seed_;
  const std::uint32_t buckets_;
  const RunSoFar& run_;
  std::vector<std::uint64_t> operations_;
  std::vector<std::uint64_t> chains_;            // entries, a bucket each
  std::vector<std::uint64_t> chains_of_client_;  // the same of each client's keys, client by client
  std::uint64_t entries_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace rkv::sim
