// What a cache line costs that lies anywhere, by how much else is touched before it is again: lines in a
// circle, each of which names the next.
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

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

struct alignas(64) Line {
  const Line* next = nullptr;
};

class Circle {
 public:
  // All lines once, in an order of chance (S. Sattolo, Information Processing Letters 22(6), 1986).
  Circle(std::uint64_t bytes, std::mt19937_64& random) : lines_(bytes / sizeof(Line)) {
    std::vector<std::size_t> next(lines_.size());
    std::iota(next.begin(), next.end(), 0);
    for (std::size_t i = next.size() - 1; i > 0; --i) {
      std::swap(next[i], next[std::uniform_int_distribution<std::size_t>(0, i - 1)(random)]);
    }
    for (std::size_t i = 0; i < next.size(); ++i) lines_[i].next = &lines_[next[i]];
    at_ = lines_.data();
  }

  [[nodiscard]] std::uint64_t bytes() const { return lines_.size() * sizeof(Line); }
  void warm() { go(lines_.size()); }
  void go(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) at_ = at_->next;
    keep(at_);
  }

 private:
  std::vector<Line> lines_;
  const Line* at_ = nullptr;
};

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
    for (Circle& circle : circles_) {
      circle.warm();
      for (unsigned i = 0; i < (circle.bytes() > large_bytes ? 1 : short_repeats); ++i) {
        circle.warm();
        samples.add(sampled::line(circle.bytes()), each_of(1, [&] { circle.go(line_steps); }) / line_steps);
      }
    }
  }

 private:
  std::vector<Circle> circles_;
};

}  // namespace

std::unique_ptr<Probe> make_line_probe(const Bench& bench) {
  return std::make_unique<LineProbe>(bench);
}

}  // namespace rkv::calibration
