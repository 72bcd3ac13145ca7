#include "calibration/measure/pairs.hpp"

#include <algorithm>
#include <latch>
#include <memory>
#include <numeric>
#include <vector>

#include "backends/verbs/port/thread_runtime.hpp"
#include "calibration/measure/stopwatch.hpp"

namespace rkv::calibration {
namespace {

constexpr unsigned all_rounds = 16000;  // enough that starting threads is little

// Called by who makes the threads.
EachWake run(const PairsOf& what, const std::vector<std::pair<PairedSide, PairedSide>>& sides) {
  const unsigned rounds = all_rounds / what.pairs;
  // Threads that end would take their time from the others'.
  std::latch done(static_cast<std::ptrdiff_t>(2) * what.pairs);
  std::latch begin(1);
  std::vector<Instant> ends(what.pairs);
  std::vector<double> preempts(std::size_t{2} * what.pairs);
  verbs::ThreadRuntime runtime;
  std::vector<std::unique_ptr<Thread>> threads;
  for (unsigned i = 0; i < what.pairs; ++i) {
    threads.push_back(runtime.spawn({.name = "there", .cores = what.there_cpus}, [&, i] {
      const PairedSide& there = sides[i].second;
      begin.wait();
      there.wake_other();
      for (unsigned round = 0; round < rounds; ++round) {
        there.await_other();
        there.wake_other();
      }
      preempts[what.pairs + i] = static_cast<double>(runtime.usage().involuntary_switches);
      done.arrive_and_wait();
    }));
  }
  for (unsigned i = 0; i < what.pairs; ++i) {
    threads.push_back(runtime.spawn({.name = "here", .cores = what.here_cpus}, [&, i] {
      const PairedSide& here = sides[i].first;
      here.await_other();
      for (unsigned round = 0; round < rounds; ++round) {
        here.wake_other();
        here.await_other();
      }
      ends[i] = verbs::clock_now();
      preempts[i] = static_cast<double>(runtime.usage().involuntary_switches);
      done.arrive_and_wait();
    }));
  }
  const Instant start = verbs::clock_now();
  begin.count_down();
  for (const auto& thread : threads) thread->join();
  const double wake_ups = 2.0 * what.pairs * rounds;
  return {nanoseconds_between(start, *std::max_element(ends.begin(), ends.end())) / wake_ups,
          std::accumulate(preempts.begin(), preempts.end(), 0.0) / wake_ups};
}

}  // namespace

EachWake run_pairs(const PairsOf& what,
                   const std::function<std::pair<PairedSide, PairedSide>(unsigned)>& make) {
  std::vector<std::pair<PairedSide, PairedSide>> sides;
  for (unsigned i = 0; i < what.pairs; ++i) sides.push_back(make(i));
  EachWake each;
  verbs::ThreadRuntime()
      .spawn({.name = "maker", .cores = what.maker_cpus}, [&] { each = run(what, sides); })
      ->join();
  return each;
}

}  // namespace rkv::calibration
