#include <cstdint>

#include "calibration/measure/names.hpp"
#include "calibration/measure/probes.hpp"
#include "calibration/measure/stopwatch.hpp"

namespace rkv::calibration {
namespace {

constexpr unsigned additions_a_run = 64;
constexpr unsigned runs = 2000;
constexpr unsigned readings = 500;

// A register added to another one takes one cycle on every processor this runs on, and the next addition
// waits for it. Both are opaque to the compiler, and to processors that fold additions of constants.
void add_dependently(std::uint64_t& sum, std::uint64_t one) {
#pragma GCC unroll 64
  for (unsigned i = 0; i < additions_a_run; ++i) {
    sum += one;
    asm volatile("" : "+r"(sum));
  }
}

class ClockProbe final : public Probe {
 public:
  [[nodiscard]] std::string_view name() const override { return "clock"; }

  void repeat(Samples& samples) override {
    std::uint64_t sum = 0;
    std::uint64_t one = 1;
    asm volatile("" : "+r"(one));
    const double run = each_of(runs, [&] { add_dependently(sum, one); });
    samples.add(sampled::clock_ghz, additions_a_run / run);
    samples.add(sampled::clock_read, each_of(readings, [] { keep(verbs::clock_now()); }));
  }
};

}  // namespace

std::unique_ptr<Probe> make_clock_probe() {
  return std::make_unique<ClockProbe>();
}

}  // namespace rkv::calibration
