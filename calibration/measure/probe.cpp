#include "calibration/measure/probe.hpp"

#include <algorithm>

namespace rkv::calibration {
namespace {

struct Repetition {
  std::size_t probe = 0;
  double before_ns = 0;  // the machine's state
  double after_ns = 0;
  Samples samples;
};

bool in_kept_state(const Repetition& repetition, const std::optional<States>& states) {
  return !states || (states->keeps(repetition.before_ns) && states->keeps(repetition.after_ns));
}

class Rounds {
 public:
  Rounds(const std::vector<std::unique_ptr<Probe>>& probes, const Bench& bench,
         const std::function<double()>& state_ns)
      : probes_(probes), bench_(bench), state_ns_(state_ns), state_now_(state()), kept_(probes.size()) {}

  void run(unsigned round, const std::function<void(double, std::string_view)>& tell) {
    const unsigned rounds = bench_.effort.rounds;
    const bool again = round >= rounds;
    if (again) count_kept();
    for (std::size_t i = 0; i < probes_.size(); ++i) {
      Probe& probe = *probes_[i];
      if (round % probe.every() != 0) continue;
      if (again && 2 * kept_[i] * probe.every() >= rounds) continue;
      bench_.throw_if_stopped();
      tell(std::min(1.0, static_cast<double>(round) / rounds), probe.name());
      Repetition& repetition = repetitions_.emplace_back();
      repetition.probe = i;
      repetition.before_ns = state_now_;
      probe.repeat(repetition.samples);
      repetition.after_ns = state_now_ = state();
    }
  }

  Selection select(Samples& samples) {
    count_kept();
    Selection selection{.states = states_,
                        .state_ns = state_ns_ ? kept_ns_ : 0,
                        .kept = 0,
                        .repetitions = repetitions_.size()};
    for (const Repetition& repetition : repetitions_) {
      const bool kept = in_kept_state(repetition, states_);
      if (kept) ++selection.kept;
      if (kept || kept_[repetition.probe] == 0) samples.add(repetition.samples);
    }
    return selection;
  }

 private:
  [[nodiscard]] double state() const { return state_ns_ ? state_ns_() : 1; }

  void count_kept() {
    std::vector<double> times;
    for (const Repetition& one : repetitions_) times.insert(times.end(), {one.before_ns, one.after_ns});
    states_ = states_of(times);
    kept_ns_ = states_ ? states_->kept() : quantile(times, 0.5);
    std::fill(kept_.begin(), kept_.end(), 0);
    for (const Repetition& one : repetitions_) kept_[one.probe] += in_kept_state(one, states_) ? 1 : 0;
  }

  const std::vector<std::unique_ptr<Probe>>& probes_;
  const Bench& bench_;
  const std::function<double()>& state_ns_;
  double state_now_;  // since the last repetition
  std::vector<Repetition> repetitions_;
  std::optional<States> states_;
  double kept_ns_ = 0;
  std::vector<unsigned> kept_;  // repetitions of each probe
};

}  // namespace

Selection run_probes(const std::vector<std::unique_ptr<Probe>>& probes, const Bench& bench,
                     const std::function<double()>& state_ns, Samples& samples,
                     const std::function<void(double part, std::string_view probe)>& tell) {
  Rounds rounds(probes, bench, state_ns);
  for (unsigned round = 0; round < 2 * bench.effort.rounds; ++round) rounds.run(round, tell);
  return rounds.select(samples);
}

}  // namespace rkv::calibration
