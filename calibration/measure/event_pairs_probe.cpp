// Threads of one CPU that wake each other by completion events: several pairs, with nothing else; and as
// clients and workers do, several and many.
#include <memory>
#include <utility>
#include <vector>

#include "calibration/measure/names.hpp"
#include "calibration/measure/pairs.hpp"
#include "calibration/measure/probes.hpp"
#include "calibration/measure/verbs_link.hpp"

namespace rkv::calibration {
namespace {

class EventPairsProbe final : public Probe {
 public:
  EventPairsProbe(const MeasuredCpus& cpus, verbs::RealPort& port)
      : cpus_(cpus), port_(port), stop_(port.port().runtime->make_stop_flag()) {}

  [[nodiscard]] std::string_view name() const override { return "pairs by events"; }
  [[nodiscard]] unsigned every() const override { return 2; }

  // Only meanwhile: they have more files open than select(2) takes, which others measure.
  void repeat(Samples& samples) override {
    Links links;
    for (unsigned i = 0; i < sampled::many_pairs; ++i) {
      links.push_back(std::make_unique<VerbsLink>(port_.port(), Transport::uc, true, *stop_));
    }
    samples.add(sampled::event_together, wake_ns(sampled::few_pairs, links, paired_with_receives));
    samples.add(sampled::run_together, wake_ns(sampled::few_pairs, links, paired_as_in_run));
    samples.add(sampled::run_crowded, wake_ns(sampled::many_pairs, links, paired_as_in_run));
  }

 private:
  using Links = std::vector<std::unique_ptr<VerbsLink>>;

  [[nodiscard]] double wake_ns(unsigned pairs, const Links& links, PairedSide (*side)(VerbsEnd&)) const {
    return run_pairs(pairs_on_first(cpus_, pairs),
                     [&](unsigned i) { return std::pair(side(links[i]->here), side(links[i]->there)); })
        .wake_ns;
  }

  MeasuredCpus cpus_;
  verbs::RealPort& port_;
  std::unique_ptr<StopFlag> stop_;
};

}  // namespace

std::unique_ptr<Probe> make_event_pairs_probe(const Bench& bench, verbs::RealPort& port) {
  return port.device()->soft() ? std::make_unique<EventPairsProbe>(bench.machine.cpus, port) : nullptr;
}

}  // namespace rkv::calibration
