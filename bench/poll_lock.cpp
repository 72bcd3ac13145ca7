// Workers that poll one queue under its lock, as ibv_poll_cq does: what the lock costs, and how long nobody
// takes what is there because a worker that holds it has lost its CPU.
//
// A closed loop of as many requests as workers: a worker takes one, is busy with it, and the request is there
// again a while later. No network. The queue's lock is a pthread_spinlock_t, as libmlx5's and libmlx4's.
#include <fmt/format.h>
#include <pthread.h>
#include <x86intrin.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::vector<int> workers{1, 2, 4, 8};
  double busy_us = 15;
  double away_us = 8;
  double seconds = 1;
};

constexpr std::uint64_t stuck_after_us = 500;
constexpr std::size_t ring_size = 4096;

double cycles_a_us() {
  const std::uint64_t cycles = __rdtsc();
  const auto since = Clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::chrono::duration<double, std::micro> time = Clock::now() - since;
  return static_cast<double>(__rdtsc() - cycles) / time.count();
}

// CPU work, whoever has the CPU in between.
void be_busy(std::uint64_t turns) {
  for (volatile std::uint64_t turn = 0; turn < turns;) turn = turn + 1;
}

// The quickest of some: nobody came in between.
double turns_a_us() {
  constexpr std::uint64_t turns = 100'000;
  double most = 0;
  for (int i = 0; i < 100; ++i) {
    const auto since = Clock::now();
    be_busy(turns);
    const std::chrono::duration<double, std::micro> time = Clock::now() - since;
    most = std::max(most, static_cast<double>(turns) / time.count());
  }
  return most;
}

struct Rates {
  double cycles_a_us = 0;
  double turns_a_us = 0;
};

struct Sums {
  std::uint64_t operations = 0;
  std::uint64_t looks = 0;
};

class Loop {
 public:
  Loop(const Options& options, int workers, bool shared, const Rates& rates)
      : busy_turns_(static_cast<std::uint64_t>(options.busy_us * rates.turns_a_us)),
        away_(static_cast<std::uint64_t>(options.away_us * rates.cycles_a_us)),
        stuck_after_(static_cast<std::uint64_t>(stuck_after_us * rates.cycles_a_us)),
        shared_(shared),
        end_(static_cast<std::uint64_t>(workers)) {
    pthread_spin_init(&lock_, PTHREAD_PROCESS_PRIVATE);
    const std::uint64_t now = __rdtsc();
    for (std::size_t i = 0; i < static_cast<std::size_t>(workers); ++i) ring_[i].ready_at = now;
  }

  void work(Sums& sums) {
    std::uint64_t own_ready_at = 0;
    while (!stop_.load(std::memory_order_relaxed)) {
      while (shared_ ? !take() : __rdtsc() < own_ready_at) {
        ++sums.looks;
        if (stop_.load(std::memory_order_relaxed)) return;
      }
      be_busy(busy_turns_);
      ++sums.operations;
      own_ready_at = __rdtsc() + away_;
      if (shared_)
        ring_[end_.fetch_add(1) % ring_size].ready_at.store(own_ready_at, std::memory_order_release);
    }
  }
  void stop() { stop_ = true; }
  // Cycles in which something had been there for long.
  [[nodiscard]] std::uint64_t stuck() const { return stuck_; }

 private:
  struct alignas(64) Entry {
    std::atomic<std::uint64_t> ready_at{0};  // 0: none
  };

  bool take() {
    pthread_spin_lock(&lock_);
    Entry& first = ring_[begin_ % ring_size];
    const std::uint64_t ready_at = first.ready_at.load(std::memory_order_acquire);
    const std::uint64_t now = __rdtsc();
    const bool there = ready_at != 0 && ready_at <= now;
    if (there) {
      const std::uint64_t since = std::max(ready_at, last_taken_at_);
      if (now > since + stuck_after_) stuck_ += now - since;
      last_taken_at_ = now;
      first.ready_at = 0;
      ++begin_;
    }
    pthread_spin_unlock(&lock_);
    return there;
  }

  const std::uint64_t busy_turns_, away_, stuck_after_;
  const bool shared_;
  pthread_spinlock_t lock_{};
  std::array<Entry, ring_size> ring_;
  std::uint64_t begin_ = 0;  // these three under the lock
  std::uint64_t last_taken_at_ = 0;
  std::uint64_t stuck_ = 0;
  std::atomic<std::uint64_t> end_;
  std::atomic<bool> stop_ = false;
};

void measure(const Options& options, int workers, bool shared, const Rates& rates) {
  const auto loop = std::make_unique<Loop>(options, workers, shared, rates);
  std::vector<Sums> sums(static_cast<std::size_t>(workers));
  const auto begin = Clock::now();
  std::vector<std::thread> threads;
  for (Sums& one : sums) threads.emplace_back([&] { loop->work(one); });
  std::this_thread::sleep_for(std::chrono::duration<double>(options.seconds));
  loop->stop();
  for (std::thread& thread : threads) thread.join();
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  Sums all;
  for (const Sums& one : sums) {
    all.operations += one.operations;
    all.looks += one.looks;
  }
  const auto operations = static_cast<double>(all.operations);
  fmt::print("{:>7}  {:6}  {:9.0f}  {:9.1f}  {:7.3f}\n", workers, shared ? "shared" : "own",
             operations / seconds, static_cast<double>(all.looks) / operations,
             static_cast<double>(loop->stuck()) / rates.cycles_a_us / 1e6 / seconds);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Workers that poll one queue under a spin lock, and workers with a queue each");
  app.add_option("--workers", options.workers, "Numbers of them")->delimiter(',')->capture_default_str();
  app.add_option("--busy-us", options.busy_us, "With each request")->capture_default_str();
  app.add_option("--away-us", options.away_us, "Until a request is there again")->capture_default_str();
  app.add_option("--seconds", options.seconds, "Of each measurement")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const Rates rates{.cycles_a_us = cycles_a_us(), .turns_a_us = turns_a_us()};
  fmt::print("workers  queue        ops/s   looks/op    stuck  (part of the time; for {} us and more)\n",
             stuck_after_us);
  for (const int workers : options.workers) {
    for (const bool shared : {false, true}) measure(options, workers, shared, rates);
  }
  return 0;
}
