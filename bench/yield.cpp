// What sched_yield(2) costs a thread that has its CPU to itself, and how often one that does nothing else
// does so beside others that spin on that CPU: what it gives up by it (backends/sim/cpu/eevdf.hpp,
// backoff_lock.hpp).
#include <fmt/format.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "backends/verbs/port/cpu_set.hpp"

namespace {

std::uint64_t yields_beside(unsigned spinning, std::chrono::duration<double> time) {
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < spinning; ++i) {
    threads.emplace_back([&] {
      while (!over.load(std::memory_order_relaxed)) {
      }
    });
  }
  std::uint64_t yields = 0;
  threads.emplace_back([&] {
    while (!over.load(std::memory_order_relaxed)) {
      ::sched_yield();
      ++yields;
    }
  });
  std::this_thread::sleep_for(time);
  over = true;
  for (std::thread& thread : threads) thread.join();
  return yields;
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 2;
  std::vector<unsigned> beside{0, 1, 3, 7};
  CLI::App app{"What sched_yield(2) costs, and what a thread gives up by it, on one CPU"};
  app.add_option("--seconds", seconds, "How long each count lasts (default: 2)")
      ->check(CLI::Range(0.01, 60.0));
  app.add_option("--beside", beside, "Threads that spin beside it (default: 0,1,3,7)")
      ->delimiter(',')
      ->check(CLI::Range(0U, 64U));
  CLI11_PARSE(app, argc, argv);
  rkv::verbs::pin_this_thread("all threads", {::sched_getcpu()});
  for (const unsigned spinning : beside) {
    const std::uint64_t yields = yields_beside(spinning, std::chrono::duration<double>(seconds));
    fmt::print("beside {} that spin: {} yields in {} s, one in {:.1f} us\n", spinning, yields, seconds,
               seconds * 1e6 / static_cast<double>(yields));
  }
}
