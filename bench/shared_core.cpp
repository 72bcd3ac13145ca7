// Whether something else uses the core that one of this machine's CPUs is on, as another tenant's CPU on the
// core's second hardware thread does: that slows down instructions that run side by side, and system calls,
// and leaves a chain of instructions as it is, of which each waits for the one before. Looks are compared
// with the fastest of them: of a core that something else uses all the time this cannot tell.
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "calibration/measure/stopwatch.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned instructions = 8000;
constexpr unsigned calls = 100;
constexpr int tries = 5;       // of which the fastest counts: the others may have been interrupted
constexpr double slow = 1.25;  // times the fastest of all looks

// Nothing is known of the value behind this, which stays in a register.
void hide(std::uint64_t& value) {
  asm volatile("" : "+r"(value));
}

template <typename Code>
double fastest_ns(unsigned count, const Code& code) {
  double best_ns = HUGE_VAL;
  for (int i = 0; i < tries; ++i) best_ns = std::min(best_ns, rkv::calibration::each_of(1, code));
  return best_ns / count;
}

struct Look {
  double side_by_side_ns;  // four additions
  double chain_ns;         // a multiplication
  double call_ns;
};

Look look() {
  const auto side_by_side = [] {
    std::uint64_t a = 1;
    std::uint64_t b = 2;
    std::uint64_t c = 3;
    std::uint64_t d = 4;
    for (unsigned i = 0; i < instructions; ++i) {
      hide(a += 3);
      hide(b += 5);
      hide(c += 7);
      hide(d += 9);
    }
  };
  const auto chain = [] {
    std::uint64_t a = 1;
    for (unsigned i = 0; i < instructions; ++i) hide(a *= 6364136223846793005ULL);
  };
  const auto call = [] {
    for (unsigned i = 0; i < calls; ++i) ::syscall(SYS_getppid);
  };
  return {fastest_ns(instructions, side_by_side), fastest_ns(instructions, chain), fastest_ns(calls, call)};
}

void print(const char* what, std::vector<Look> looks, std::size_t all) {
  fmt::print("{:24} {:3.0f} %", what, 100.0 * static_cast<double>(looks.size()) / static_cast<double>(all));
  for (const auto figure : {&Look::side_by_side_ns, &Look::chain_ns, &Look::call_ns}) {
    if (looks.empty()) break;
    const auto middle = looks.begin() + static_cast<std::ptrdiff_t>(looks.size() / 2);
    std::nth_element(looks.begin(), middle, looks.end(),
                     [&](const Look& x, const Look& y) { return x.*figure < y.*figure; });
    fmt::print("  {:10.2f}", (*middle).*figure);
  }
  fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Whether something else uses the core that this machine's CPU is on"};
  double seconds = 20;
  int every_ms = 50;
  app.add_option("--seconds", seconds, "to look for")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--every-ms", every_ms, "from one look to the next")
      ->check(CLI::Range(1, 60'000))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  std::vector<Look> looks;
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  while (Clock::now() < end) {
    looks.push_back(look());
    std::this_thread::sleep_for(std::chrono::milliseconds{every_ms});
  }
  double fastest = HUGE_VAL;
  for (const Look& one : looks) fastest = std::min(fastest, one.side_by_side_ns);
  const auto shared = std::stable_partition(
      looks.begin(), looks.end(), [&](const Look& one) { return one.side_by_side_ns < slow * fastest; });
  fmt::print("{:24} {:5}  {:>10}  {:>10}  {:>10}\n", "the core", "looks", "4 adds, ns", "1 mul, ns",
             "1 call, ns");
  print("for this CPU alone", {looks.begin(), shared}, looks.size());
  print("used by something else", {shared, looks.end()}, looks.size());
}
