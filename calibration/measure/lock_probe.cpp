#include <memory>

#include "backends/verbs/port/thread_runtime.hpp"
#include "calibration/measure/names.hpp"
#include "calibration/measure/probes.hpp"
#include "calibration/measure/stopwatch.hpp"
#include "calibration/measure/turns.hpp"

namespace rkv::calibration {
namespace {

constexpr unsigned repetitions = 500;

// The lock of the runtime, as the store and the thesis's client take it.
class LockProbe final : public Probe {
 public:
  explicit LockProbe(std::optional<int> other_cpu) : other_cpu_(other_cpu), mutex_(runtime_.make_mutex()) {}

  [[nodiscard]] std::string_view name() const override { return "locks"; }

  void repeat(Samples& samples) override {
    samples.add(sampled::lock, each_of(repetitions, [&] { use(); }) / 2);
    if (!other_cpu_) return;
    Timings timings;
    take_turns(timings, sampled::turns, [] {});
    take_turns(timings, sampled::locks_and_turns, [&] { use(); });
    timings.medians_to(samples);
  }

 private:
  void use() {
    mutex_->lock();
    mutex_->unlock();
  }

  template <typename Code>
  void take_turns(Timings& timings, const char* name, const Code& code) {
    using Side = Turns::Side;
    run_two(
        *other_cpu_,
        [&](Turns& turns) {
          const auto both = [&] {
            code();
            turns.pass(Side::here);
            turns.await(Side::here);
          };
          both();  // waits for the other thread to start
          for (unsigned i = 0; i < repetitions; ++i) timings.time(name, both);
        },
        [&](Turns& turns) {
          for (unsigned i = 0; i < repetitions + 1; ++i) {
            turns.await(Side::there);
            code();
            turns.pass(Side::there);
          }
        });
  }

  std::optional<int> other_cpu_;
  verbs::ThreadRuntime runtime_;
  std::unique_ptr<Mutex> mutex_;
};

}  // namespace

std::unique_ptr<Probe> make_lock_probe(const Bench& bench, Samples& samples) {
  if (!bench.machine.cpus.second) samples.cannot(sampled::locks_and_turns, one_cpu_only);
  return std::make_unique<LockProbe>(bench.machine.cpus.second);
}

}  // namespace rkv::calibration
