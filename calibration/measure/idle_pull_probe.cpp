// Whether a CPU that becomes idle looks at once for threads that wait for another one.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>

#include "backends/verbs/port/system_error.hpp"
#include "backends/verbs/port/thread_runtime.hpp"
#include "calibration/measure/names.hpp"
#include "calibration/measure/probes.hpp"
#include "calibration/measure/stopwatch.hpp"

namespace rkv::calibration {
namespace {

constexpr unsigned trials = 2;
constexpr Duration between_naps{50'000};
constexpr unsigned naps_before = 24;  // after which the CPU's idle times are known to be so long

// Two threads spin on the second CPU while the first one's takes naps. Once they may leave, how many naps
// does it take until one of them is here? Some kernels look only as often as looking was of use before, which
// it was not while they might not leave.
class IdlePullProbe final : public Probe {
 public:
  IdlePullProbe(int here, int there) : here_(here), there_(there) {}

  [[nodiscard]] std::string_view name() const override { return "threads taken over"; }
  [[nodiscard]] unsigned every() const override { return 4; }

  void repeat(Samples& samples) override {
    for (unsigned i = 0; i < trials; ++i) samples.add(sampled::naps_until_pulled, naps_until_pulled());
  }

 private:
  struct Spinners {
    std::array<std::atomic<int>, 2> ids{};
    std::atomic<bool> one_is_here{false};
    std::atomic<bool> over{false};
    std::array<std::unique_ptr<Thread>, 2> threads;

    ~Spinners() {
      over = true;
      for (const auto& thread : threads) {
        if (thread != nullptr) thread->join();
      }
    }
  };

  [[nodiscard]] double naps_until_pulled() {
    Spinners spinners;
    for (std::size_t i = 0; i < spinners.ids.size(); ++i) {
      spinners.threads[i] = runtime_.spawn({.name = "spinner", .cores = {there_}}, [this, &spinners, i] {
        spinners.ids[i] = static_cast<int>(::syscall(SYS_gettid));
        while (!spinners.over) {
          if (::sched_getcpu() == here_) spinners.one_is_here = true;
        }
      });
    }
    while (spinners.ids[0] == 0 || spinners.ids[1] == 0) std::this_thread::sleep_for(sampled::nap);
    for (unsigned i = 0; i < naps_before; ++i) nap();
    cpu_set_t both;
    CPU_ZERO(&both);
    for (const int cpu : {here_, there_}) CPU_SET(static_cast<std::size_t>(cpu), &both);
    for (const std::atomic<int>& id : spinners.ids) {
      if (::sched_setaffinity(id, sizeof both, &both) != 0) {
        throw verbs::system_error("thread 'spinner'", "sched_setaffinity", errno);
      }
    }
    unsigned naps = 0;
    while (!spinners.one_is_here && naps < sampled::most_naps) {
      nap();
      ++naps;
    }
    return naps;
  }

  static void nap() {
    work_for(between_naps);
    std::this_thread::sleep_for(sampled::nap);
  }

  int here_;
  int there_;
  verbs::ThreadRuntime runtime_;
};

}  // namespace

std::unique_ptr<Probe> make_idle_pull_probe(const Bench& bench, Samples& samples) {
  const MeasuredCpus& cpus = bench.machine.cpus;
  if (cpus.second) return std::make_unique<IdlePullProbe>(cpus.first, *cpus.second);
  samples.cannot(sampled::naps_until_pulled, one_cpu_only);
  return nullptr;
}

}  // namespace rkv::calibration
