#include "calibration/measure/probes.hpp"

#include <utility>

namespace rkv::calibration {

std::vector<std::unique_ptr<Probe>> make_probes(const Bench& bench, verbs::RealPort& port, Samples& samples) {
  std::vector<std::unique_ptr<Probe>> probes;
  const auto add = [&](std::unique_ptr<Probe> probe) {
    if (probe != nullptr) probes.push_back(std::move(probe));
  };
  add(make_clock_probe());
  add(make_store_probe(bench, samples));
  add(make_copy_probe());
  add(make_line_probe(bench));
  add(make_bandwidth_probe(bench, samples));
  add(make_lock_probe(bench, samples));
  add(make_kernel_probe(bench, samples));
  add(make_halt_probe(bench, samples));
  add(make_switch_probe(bench));
  add(make_thread_probe());
  add(make_wake_probe(bench, samples));
  add(make_scheduler_probe(bench));
  add(make_others_probe(bench, samples));
  add(make_smt_probe(bench, samples));
  add(make_verbs_probe(bench, port, samples));
  add(make_event_round_trip_probe(bench, port, samples));
  add(make_event_pairs_probe(bench, port));
  add(make_tcp_probe(bench, samples));
  add(make_tcp_crowd_probe(bench));
  return probes;
}

}  // namespace rkv::calibration
