#include <algorithm>
#include <memory>
#include <utility>

#include "calibration/measure/names.hpp"
#include "calibration/measure/other_threads.hpp"
#include "calibration/measure/probes.hpp"

namespace rkv::calibration {
namespace {

// What other programs' threads did since it last looked, while everything else was measured.
class OthersProbe final : public Probe {
 public:
  OthersProbe(unsigned every, OtherThreads first) : every_(every), last_(std::move(first)) {}

  [[nodiscard]] std::string_view name() const override { return "other programs' threads"; }
  [[nodiscard]] unsigned every() const override { return every_; }

  void repeat(Samples& samples) override {
    OtherThreads now = other_threads();
    const auto turns = long_turns(last_, now);
    last_ = std::move(now);
    if (!turns) return;
    samples.add(sampled::heavy_part, turns->heavy_part);
    if (turns->weight) samples.add(sampled::heavy_weight, *turns->weight);
    if (turns->changing) samples.add(sampled::long_changing, *turns->changing);
  }

 private:
  unsigned every_;
  OtherThreads last_;
};

}  // namespace

std::unique_ptr<Probe> make_others_probe(const Bench& bench, Samples& samples) {
  OtherThreads first = other_threads();
  if (first.empty()) {
    for (const char* name : {sampled::heavy_part, sampled::heavy_weight, sampled::long_changing})
      samples.cannot(name, "Linux does not tell how long other programs' threads ran (/proc/PID/schedstat)");
    return nullptr;
  }
  samples.cannot(sampled::heavy_part, "no thread of another program ran for 0.1 ms at a time");
  samples.cannot(sampled::heavy_weight, "no thread with a nice below 0 ran for 0.1 ms at a time");
  samples.cannot(sampled::long_changing,
                 "no thread ran for 0.1 ms at a time of which Linux tells how often it changed its CPU "
                 "(/proc/PID/sched)");
  return std::make_unique<OthersProbe>(std::max(bench.effort.rounds / 5, 1U), std::move(first));
}

}  // namespace rkv::calibration
