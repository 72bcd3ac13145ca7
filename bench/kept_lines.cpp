// How long lines stay in caches that others use too: a walk over lines at random, after pauses in which the
// CPU spins. On a machine of its own a pause makes no difference (backends/sim/cpu/memory.hpp, neighbours).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>
#include <vector>

#include "backends/verbs/port/cpu_set.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::duration<double, std::nano>;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr unsigned passes_between = 3;  // over lines that are in the caches again from then on

struct alignas(64) Line {
  const Line* next = nullptr;
};

// All lines once, in an order of chance (S. Sattolo, Information Processing Letters 22(6), 1986).
std::vector<Line> circle(std::size_t count) {
  std::mt19937_64 random(1);
  std::vector<std::size_t> next(count);
  std::iota(next.begin(), next.end(), 0);
  for (std::size_t i = count - 1; i > 0; --i)
    std::swap(next[i], next[std::uniform_int_distribution<std::size_t>(0, i - 1)(random)]);
  std::vector<Line> lines(count);
  for (std::size_t i = 0; i < count; ++i) lines[i].next = &lines[next[i]];
  return lines;
}

double line_ns(const std::vector<Line>& lines) {
  const Line* at = lines.data();
  const Clock::time_point begin = Clock::now();
  for (std::size_t i = 0; i < lines.size(); ++i) at = at->next;
  const Nanoseconds time = Clock::now() - begin;
  asm volatile("" : : "r"(at));
  return time.count() / static_cast<double>(lines.size());
}

void spin(Milliseconds pause) {
  const Clock::time_point begin = Clock::now();
  while (Clock::now() - begin < pause) continue;
}

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
  for (const std::size_t mib : {1U, 2U, 4U, 8U}) {
    const std::vector<Line> lines = circle((mib << 20) / sizeof(Line));
    fmt::print("{} MiB, ns a line after a pause of", mib);
    for (const double pause_ms : {0.0, 1.0, 3.0, 10.0, 30.0, 100.0}) {
      std::vector<double> costs_ns;
      for (unsigned i = 0; i < times; ++i) {
        for (unsigned pass = 0; pass < passes_between; ++pass) static_cast<void>(line_ns(lines));
        spin(Milliseconds(pause_ms));
        costs_ns.push_back(line_ns(lines));
      }
      std::sort(costs_ns.begin(), costs_ns.end());
      fmt::print("  {} ms: {:.1f}", pause_ms, costs_ns[costs_ns.size() / 2]);
    }
    fmt::print("\n");
  }
}
