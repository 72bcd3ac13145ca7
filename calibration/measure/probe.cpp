#include "calibration/measure/probe.hpp"

namespace rkv::calibration {

void run_probes(const std::vector<std::unique_ptr<Probe>>& probes, const Bench& bench, Samples& samples,
                const std::function<void(double part, std::string_view probe)>& tell) {
  for (unsigned round = 0; round < bench.effort.rounds; ++round) {
    for (const auto& probe : probes) {
      if (round % probe->every() != 0) continue;
      bench.throw_if_stopped();
      tell(static_cast<double>(round) / bench.effort.rounds, probe->name());
      probe->repeat(samples);
    }
  }
}

}  // namespace rkv::calibration
