// Whether the kernel keeps threads together on one of two CPUs though the other is idle, as some kernels of
// virtual machines do: where a new thread begins, by how much of its CPU its maker has used lately, and where
// a woken one runs, by how long the CPU where it ran has been idle.
#include <fmt/format.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;
using Microseconds = std::chrono::microseconds;

constexpr std::array used{0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};
constexpr std::array idle{20us, 50us, 100us, 150us, 200us, 300us, 500us, 1000us, 3000us};
constexpr auto period = 4ms;  // of using a part of a CPU
constexpr int periods = 75;   // much longer than what Linux averages over

void spin_until(Clock::time_point end) {
  while (Clock::now() < end) {
  }
}

void allow(std::initializer_list<int> cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

bool begins_with_its_maker(double part) {
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < periods; ++i) {
    spin_until(begin + i * period + std::chrono::duration_cast<Clock::duration>(part * period));
    std::this_thread::sleep_until(begin + (i + 1) * period);
  }
  const int own = ::sched_getcpu();
  std::atomic<int> cpu{-1};
  std::thread([&] { cpu = ::sched_getcpu(); }).join();
  return cpu == own;
}

// The waker is on CPU 0, who is woken ran on CPU 1 last.
bool comes_to_its_waker(Microseconds idle_for) {
  const int alarm = ::eventfd(0, 0);
  std::atomic<Clock::time_point> asleep{Clock::time_point()};
  std::atomic<int> cpu{-1};
  std::thread woken([&] {
    allow({1});
    std::this_thread::sleep_for(30ms);
    spin_until(Clock::now() + 50us);
    allow({0, 1});
    asleep = Clock::now();
    std::uint64_t value = 0;
    if (::read(alarm, &value, sizeof value) == sizeof value) cpu = ::sched_getcpu();
  });
  std::this_thread::sleep_for(29ms);
  while (asleep.load() == Clock::time_point()) {
  }
  spin_until(asleep.load() + idle_for);
  const std::uint64_t one = 1;
  if (::write(alarm, &one, sizeof one) != sizeof one) fmt::print(stderr, "eventfd: write failed\n");
  spin_until(Clock::now() + 500us);
  woken.join();
  ::close(alarm);
  return cpu == 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Whether the kernel keeps threads together on one of two CPUs though the other is idle"};
  int runs = 20;
  app.add_option("--runs", runs, "of each row")->check(CLI::Range(1, 10'000))->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (std::thread::hardware_concurrency() != 2) {
    fmt::print(stderr, "rkv_bench_packing: this is for a machine of two CPUs\n");
    return 2;
  }
  fmt::print("of its CPU its maker used  new threads that began there\n");
  for (const double part : used) {
    int with = 0;
    for (int i = 0; i < runs; ++i) with += begins_with_its_maker(part) ? 1 : 0;
    fmt::print("{:26.2f}  {} of {}\n", part, with, runs);
  }
  allow({0});
  fmt::print("\ntheir CPU was idle for, us  woken threads that came to their waker's\n");
  for (const Microseconds time : idle) {
    int came = 0;
    for (int i = 0; i < runs; ++i) came += comes_to_its_waker(time) ? 1 : 0;
    fmt::print("{:26}  {} of {}\n", time.count(), came, runs);
  }
}
