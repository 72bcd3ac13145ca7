#include <array>
#include <atomic>
#include <cstdint>

#include "backends/verbs/port/thread_runtime.hpp"
#include "calibration/measure/names.hpp"
#include "calibration/measure/probes.hpp"
#include "calibration/measure/stopwatch.hpp"
#include "core/workload/thesis_text.hpp"

namespace rkv::calibration {
namespace {

constexpr unsigned asked_keys = 2000;

// Writing keys: integer work with branches and a few cache lines, as most of a key-value service is.
double key_ns() {
  std::array<std::byte, thesis_key_max_bytes> text;
  std::int64_t count = 1'000'000;
  return each_of(asked_keys, [&] { keep(write_thesis_key(7, ++count, text)); });
}

class SmtProbe final : public Probe {
 public:
  explicit SmtProbe(int sibling) : sibling_(sibling) {}
  [[nodiscard]] std::string_view name() const override { return "hardware threads"; }

  void repeat(Samples& samples) override {
    samples.add(sampled::smt_alone, key_ns());
    std::atomic<bool> busy{false};
    std::atomic<bool> end{false};
    const auto thread = runtime_.spawn({.name = "sibling", .cores = {sibling_}}, [&] {
      while (!end.load()) {
        keep(key_ns());
        busy.store(true);
      }
    });
    while (!busy.load()) {
    }
    samples.add(sampled::smt_beside, key_ns());
    end.store(true);
    thread->join();
  }

 private:
  int sibling_;
  verbs::ThreadRuntime runtime_;
};

}  // namespace

std::unique_ptr<Probe> make_smt_probe(const Bench& bench, Samples& samples) {
  if (!bench.machine.cpus.sibling) {
    samples.cannot(sampled::smt_beside, bench.machine.smt_ways > 1
                                            ? "this process may not use two hardware threads of a core"
                                            : "no core shows two hardware threads here");
    return nullptr;
  }
  return std::make_unique<SmtProbe>(*bench.machine.cpus.sibling);
}

}  // namespace rkv::calibration
