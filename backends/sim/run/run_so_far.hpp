// How far the clients of a run had come, moment by moment: tells how many operations all of them together had
// done when one of them did its operation of a certain number. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rkv::sim {

class RunSoFar {
 public:
  explicit RunSoFar(std::size_t clients) : clients_(clients), operations_(clients, 0) { forget(); }

  // Back to the beginning.
  void forget();
  // The next moment: operations that each client has done, none less than at the moment before.
  void add(std::span<const double> operations);

  // At the last moment.
  [[nodiscard]] std::span<const double> operations() const { return operations_; }
  [[nodiscard]] double all_operations() const { return totals_.back(); }
  // Those of all clients when `client` had done `count` of its own, which it has. Between moments everybody
  // advances evenly.
  [[nodiscard]] double all_operations_when(std::size_t client, double count) const;

 private:
  std::size_t clients_;
  std::vector<double> operations_;
  std::vector<double> totals_;       // a moment each
  std::vector<double> of_a_client_;  // `clients_` a moment
};

}  // namespace rkv::sim
