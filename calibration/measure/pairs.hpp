// Pairs of threads that wake each other by turns, all at once.
#pragma once

#include <functional>
#include <utility>

namespace rkv::calibration {

struct PairsOf {
  unsigned pairs = 1;
  int here_cpu = 0;  // where one of each runs
  int there_cpu = 0;
};

// What one of a pair does; called on its own thread.
struct PairedSide {
  std::function<void()> wake_other;
  std::function<void()> await_other;
};

struct EachWake {
  double wake_ns = 0;   // time, of all threads together
  double preempts = 0;  // threads that lost their CPU
};

// On average, of some thousands. `make` gives the two sides of the pair of this number, the one that waits
// for a start by its other side first: it is woken once more than it wakes.
[[nodiscard]] EachWake wake_by_turns(const PairsOf& what,
                                     const std::function<std::pair<PairedSide, PairedSide>(unsigned)>& make);

}  // namespace rkv::calibration
