// How often threads that spin, more than there are CPUs, are taken to another CPU, and what had that CPU from
// them shortly before: other programs' threads that run for long (backends/sim/cpu/processors.hpp).
#include <fmt/format.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr double shortest_s = 20e-6;  // pause of a thread that has lost the CPU
constexpr double long_s = 1e-3;
constexpr double before_s = 0.2;

// A thread was on a CPU, all the time.
struct Stay {
  double begin_s;
  double end_s;
  int cpu;
};

struct Absence {
  double begin_s;
  double end_s;
};

std::vector<Stay> stays(Clock::time_point begin, double seconds) {
  std::vector<Stay> found;
  found.reserve(1'000'000);
  for (double last = 0; last < seconds;) {
    const int cpu = ::sched_getcpu();
    const double now = Seconds(Clock::now() - begin).count();
    if (found.empty() || cpu != found.back().cpu || now - last > shortest_s) {
      found.push_back({now, now, cpu});
    } else {
      found.back().end_s = now;
    }
    last = now;
  }
  return found;
}

// When none of the threads had the CPU, for long.
std::map<int, std::vector<Absence>> absences(const std::vector<std::vector<Stay>>& threads) {
  std::map<int, std::vector<Stay>> on;
  for (const auto& thread : threads) {
    for (const Stay& stay : thread) on[stay.cpu].push_back(stay);
  }
  std::map<int, std::vector<Absence>> found;
  for (auto& [cpu, all] : on) {
    std::sort(all.begin(), all.end(), [](const Stay& a, const Stay& b) { return a.begin_s < b.begin_s; });
    double end_s = all.front().end_s;
    for (const Stay& stay : all) {
      if (stay.begin_s - end_s > long_s) found[cpu].push_back({end_s, stay.begin_s});
      end_s = std::max(end_s, stay.end_s);
    }
  }
  return found;
}

struct Move {
  double when_s;
  int from;
  int to;
};

std::vector<Move> moves(const std::vector<std::vector<Stay>>& threads) {
  std::vector<Move> found;
  for (const auto& thread : threads) {
    for (std::size_t i = 1; i < thread.size(); ++i) {
      if (thread[i].cpu != thread[i - 1].cpu)
        found.push_back({thread[i].begin_s, thread[i - 1].cpu, thread[i].cpu});
    }
  }
  std::sort(found.begin(), found.end(), [](const Move& a, const Move& b) { return a.when_s < b.when_s; });
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Threads that spin, and when they are taken to another CPU.");
  unsigned count = 4;
  double seconds = 30;
  app.add_option("--threads", count, "That spin, on all CPUs")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--seconds", seconds, "For so long")->capture_default_str()->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  std::vector<std::vector<Stay>> found(count);
  std::vector<std::thread> threads;
  const Clock::time_point begin = Clock::now();
  for (auto& own : found) threads.emplace_back([&own, begin, seconds] { own = stays(begin, seconds); });
  for (auto& thread : threads) thread.join();
  const auto away = absences(found);
  const std::vector<Move> all = moves(found);
  for (const Move& move : all) {
    fmt::print("{:.3f} s: from CPU {} to {}; others had CPU {}", move.when_s, move.from, move.to, move.from);
    if (const auto cpu = away.find(move.from); cpu != away.end()) {
      for (const Absence& one : cpu->second) {
        if (one.end_s <= move.when_s && one.end_s > move.when_s - before_s)
          fmt::print(" for {:.1f} ms {:.0f} ms ago", 1e3 * (one.end_s - one.begin_s),
                     1e3 * (move.when_s - one.end_s));
      }
    }
    fmt::print("\n");
  }
  for (const auto& [cpu, long_ones] : away)
    fmt::print("CPU {}: others had it for more than 1 ms {:.2f} times a second\n", cpu,
               static_cast<double>(long_ones.size()) / seconds);
  fmt::print("{} threads: {:.2f} moves a second\n", count, static_cast<double>(all.size()) / seconds);
}
