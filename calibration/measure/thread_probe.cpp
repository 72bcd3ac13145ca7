#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "backends/verbs/port/thread_runtime.hpp"
#include "calibration/measure/names.hpp"
#include "calibration/measure/probes.hpp"
#include "calibration/measure/stopwatch.hpp"

namespace rkv::calibration {
namespace {

// That are there at a time: more than those whose stacks the C library keeps for the next ones.
constexpr std::size_t threads = 12;

// From before a thread is made until it is there, by itself and as this program's threads are, which have a
// name and cores before they begin. All on one CPU.
class ThreadProbe final : public Probe {
 public:
  [[nodiscard]] std::string_view name() const override { return "making threads"; }
  [[nodiscard]] unsigned every() const override { return 2; }

  void repeat(Samples& samples) override {
    make_all(samples, sampled::thread_made, [](auto body) { return std::jthread(body); });
    make_all(samples, sampled::thread_begun,
             [this](auto body) { return runtime_.spawn({.name = "begun", .cores = {}}, body); });
  }

 private:
  struct End {
    std::atomic<bool>& over;
    ~End() {
      over = true;
      over.notify_all();
    }
  };

  template <typename Make>
  static void make_all(Samples& samples, const char* what, const Make& make) {
    std::atomic<bool> over{false};
    std::vector<std::atomic<double>> times(threads);
    make_waiting(times, over, make);
    for (const std::atomic<double>& time_ns : times) samples.add(what, time_ns);
  }

  // They wait for each other, and end together, also where one cannot be made.
  template <typename Make>
  static void make_waiting(std::vector<std::atomic<double>>& times, std::atomic<bool>& over,
                           const Make& make) {
    std::vector<decltype(make([] {}))> made;
    const End end{over};
    for (std::atomic<double>& time_ns : times) {
      const Instant before = verbs::clock_now();
      made.push_back(make([&over, &time_ns, before] {
        time_ns = nanoseconds_between(before, verbs::clock_now());
        time_ns.notify_one();
        over.wait(false);
      }));
      time_ns.wait(0);
    }
  }

  verbs::ThreadRuntime runtime_;
};

}  // namespace

std::unique_ptr<Probe> make_thread_probe() {
  return std::make_unique<ThreadProbe>();
}

}  // namespace rkv::calibration
