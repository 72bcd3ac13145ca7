// Pairs of threads that wake each other by turns, all at once.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "calibration/measure/machine.hpp"

namespace rkv::calibration {

struct PairsOf {
  unsigned pairs = 1;
  std::vector<int> here_cpus;  // where one of each may run
  std::vector<int> there_cpus;
  // Where who makes them runs, away from them where there is another CPU, as who makes a run's clients does.
  // Threads that are made on their own CPU come to take turns in another order: the one that was just woken
  // comes next in a seventh to a third of them, and finds less gone from the caches.
  std::vector<int> maker_cpus;
};

// So many with both sides on the first CPU.
[[nodiscard]] inline PairsOf pairs_on_first(const MeasuredCpus& cpus, unsigned pairs) {
  return {.pairs = pairs,
          .here_cpus = {cpus.first},
          .there_cpus = {cpus.first},
          .maker_cpus = cpus.beside_first()};
}

// What one of a pair does; called on its own thread.
struct PairedSide {
  std::function<void()> wake_other;
  std::function<void()> await_other;
};

struct EachWake {
  double wake_ns = 0;   // time, of all threads together
  double preempts = 0;  // threads that lost their CPU
};

// On average, of some thousands. make(i) gives the two sides of a pair: the one on here_cpus, and the other,
// which begins.
[[nodiscard]] EachWake run_pairs(const PairsOf& what,
                                 const std::function<std::pair<PairedSide, PairedSide>(unsigned)>& make);

}  // namespace rkv::calibration
