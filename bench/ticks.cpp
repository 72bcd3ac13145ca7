// When and for how long the kernel interrupts threads that spin, one on each CPU: whether ticks stop all CPUs
// at the same time (backends/sim/cpu/core.hpp).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "backends/verbs/port/cpu_set.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;

constexpr Microseconds shortest{3};
constexpr std::size_t most_gaps = 1'000'000;

struct Gap {
  double begin_us;
  double length_us;
};

std::vector<Gap> gaps(Clock::time_point begin, Clock::time_point end) {
  std::vector<Gap> found;
  found.reserve(most_gaps);
  for (Clock::time_point last = begin; last < end && found.size() < most_gaps;) {
    const Clock::time_point now = Clock::now();
    if (now - last > shortest)
      found.push_back({Microseconds(last - begin).count(), Microseconds(now - last).count()});
    last = now;
  }
  return found;
}

void print(const std::string& what, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  fmt::print("{}: {} values, quantiles 5, 25, 50, 75, 95 %:", what, values.size());
  for (const std::size_t percent : {5U, 25U, 50U, 75U, 95U}) {
    if (!values.empty()) fmt::print(" {:.2f}", values[(values.size() - 1) * percent / 100]);
  }
  fmt::print(" us\n");
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 4;
  CLI::App app{"When and for how long two CPUs are taken from threads that spin on them"};
  app.add_option("--seconds", seconds, "How long they spin (default: 4)")->check(CLI::Range(0.1, 60.0));
  CLI11_PARSE(app, argc, argv);
  if (std::thread::hardware_concurrency() < 2) {
    fmt::print(stderr, "rkv_bench_ticks: this is for a machine of two CPUs or more\n");
    return 2;
  }
  const Clock::time_point begin = Clock::now() + std::chrono::milliseconds(10);
  const auto end =
      begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::vector<std::vector<Gap>> found(2);
  std::vector<std::thread> threads;
  for (std::size_t cpu = 0; cpu < found.size(); ++cpu) {
    threads.emplace_back([&, cpu] {
      rkv::verbs::pin_this_thread(fmt::format("thread {}", cpu), {static_cast<int>(cpu)});
      std::this_thread::sleep_until(begin);
      found[cpu] = gaps(begin, end);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t cpu = 0; cpu < found.size(); ++cpu) {
    std::vector<double> lengths;
    for (const Gap& gap : found[cpu]) lengths.push_back(gap.length_us);
    print(fmt::format("CPU {} was away for", cpu), lengths);
  }
  std::vector<double> apart;
  auto near = found[1].begin();
  for (const Gap& gap : found[0]) {
    const auto distance = [&](const Gap& other) { return std::abs(other.begin_us - gap.begin_us); };
    while (near != found[1].end() && near + 1 != found[1].end() && distance(near[1]) <= distance(*near))
      ++near;
    if (near != found[1].end() && distance(*near) < 1000) apart.push_back(near->begin_us - gap.begin_us);
  }
  print("CPU 1 went after CPU 0", apart);
}
