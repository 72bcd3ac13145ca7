// What a cache line costs that lies anywhere, by how much else is touched before it is again: lines in a
// circle, each of which names the next.
#include <cstdint>
#include <random>
#include <vector>

#include "calibration/measure/line_circle.hpp"
#include "calibration/measure/names.hpp"
#include "calibration/measure/probes.hpp"
#include "calibration/measure/stopwatch.hpp"

namespace rkv::calibration {
namespace {

constexpr std::uint64_t smallest_bytes = 16 << 10;
constexpr std::uint64_t quick_bytes = 256 << 10;
constexpr std::uint64_t largest_bytes = 32 << 20;
constexpr std::uint64_t large_bytes = 4 << 20;  // going through more takes its time
constexpr unsigned short_repeats = 4;
constexpr unsigned line_steps = 20'000;

class LineProbe final : public Probe {
 public:
  explicit LineProbe(const Bench& bench) {
    std::mt19937_64 random(1);
    const std::uint64_t most = bench.effort.quick ? quick_bytes : largest_bytes;
    for (std::uint64_t bytes = smallest_bytes; bytes <= most; bytes *= 2)
      circles_.emplace_back(bytes, random);
  }
  [[nodiscard]] std::string_view name() const override { return "cache lines"; }
  [[nodiscard]] unsigned every() const override { return 4; }

  void repeat(Samples& samples) override {
    for (LineCircle& circle : circles_) {
      circle.go_round();
      for (unsigned i = 0; i < (circle.bytes() > large_bytes ? 1 : short_repeats); ++i) {
        circle.go_round();
        samples.add(sampled::line(circle.bytes()), each_of(1, [&] { circle.go(line_steps); }) / line_steps);
      }
    }
  }

 private:
  std::vector<LineCircle> circles_;
};

}  // namespace

std::unique_ptr<Probe> make_line_probe(const Bench& bench) {
  return std::make_unique<LineProbe>(bench);
}

}  // namespace rkv::calibration
