// How long lines stay in caches that others use too: a walk over lines at random, after pauses in which the
// CPU spins. On a machine of its own a pause makes no difference (backends/sim/cpu/memory.hpp, neighbours).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

#include "backends/verbs/port/cpu_set.hpp"
#include "calibration/measure/line_circle.hpp"
#include "calibration/measure/stopwatch.hpp"

namespace {

using rkv::calibration::LineCircle;
using rkv::calibration::timed;
using rkv::calibration::work_for;

constexpr unsigned passes_between = 3;  // over lines that are in the caches again from then on

}  // namespace

int main(int argc, char** argv) {
  int cpu = 0;
  unsigned times = 21;
  CLI::App app{"What a cache line costs after a pause: how long neighbours leave it in the caches"};
  app.add_option("--cpu", cpu, "Where it runs (default: 0)");
  app.add_option("--times", times, "Of each pause; the median counts (default: 21)")
      ->check(CLI::Range(1U, 1001U));
  CLI11_PARSE(app, argc, argv);
  rkv::verbs::pin_this_thread("this thread", {cpu});
  std::mt19937_64 random(1);
  for (const std::uint64_t mib : {1U, 2U, 4U, 8U}) {
    LineCircle circle(mib << 20, random);
    const double lines = static_cast<double>(circle.lines());
    fmt::print("{} MiB, ns a line after a pause of", mib);
    for (const unsigned pause_ms : {0U, 1U, 3U, 10U, 30U, 100U}) {
      std::vector<double> costs_ns;
      for (unsigned i = 0; i < times; ++i) {
        for (unsigned pass = 0; pass < passes_between; ++pass) circle.go_round();
        work_for(std::chrono::milliseconds(pause_ms));
        costs_ns.push_back(timed([&] { circle.go_round(); }) / lines);
      }
      std::sort(costs_ns.begin(), costs_ns.end());
      fmt::print("  {} ms: {:.1f}", pause_ms, costs_ns[costs_ns.size() / 2]);
    }
    fmt::print("\n");
  }
}
