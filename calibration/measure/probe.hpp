// Something to measure, repetition by repetition, so that a plan can interleave the repetitions of
// everything: what disturbs the machine for a while then disturbs a few repetitions of all, not all of one.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/measure/machine.hpp"
#include "calibration/measure/sample.hpp"
#include "calibration/measure/states.hpp"

namespace rkv::calibration {

// On one thread, which runs on MeasuredCpus::first only. Making one may take memory and time, but repeat()
// must be over within a second: Ctrl-C waits for it.
class Probe {
 public:
  virtual ~Probe() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // One repetition: adds a value to each of its samples. Throws rkv::Error.
  virtual void repeat(Samples& samples) = 0;
  // It is repeated in one of so many rounds.
  [[nodiscard]] virtual unsigned every() const { return 1; }
};

struct Effort {
  unsigned rounds = 40;
  bool quick = false;  // a smoke test: caches and small stores only, short spins
};

// Asked between repetitions and inside long preparations.
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};

// What all probes are made with.
struct Bench {
  MachineFacts machine;
  Effort effort;
  std::function<bool()> stop;  // whether to end; thread-safe

  void throw_if_stopped() const {
    if (stop()) throw Interrupted();
  }
};

// Which repetitions were taken into the samples.
struct Selection {
  // The machine's, meanwhile. None: it had one, and all repetitions were taken.
  std::optional<States> states;
  double state_ns = 0;  // median of what told the one that was kept; 0: not asked
  std::size_t kept = 0;
  std::size_t repetitions = 0;
};

// Runs the rounds and tells how far it is, from 0 to 1, and what it is at. `state_ns` is asked before the
// first and after each repetition: a time that only the machine's state decides; null: it has one state. Of
// two, the samples are those of repetitions that began and ended in the one that is kept, and up to as many
// rounds again are done for probes that had less than half of theirs in it; those that never had one keep
// all. Throws Interrupted.
Selection run_probes(const std::vector<std::unique_ptr<Probe>>& probes, const Bench& bench,
                     const std::function<double()>& state_ns, Samples& samples,
                     const std::function<void(double part, std::string_view probe)>& tell);

}  // namespace rkv::calibration
