// Waking threads of the own CPU, and of another one that is busy. On another idle CPU:
// kernel_probe.cpp, event_round_trip_probe.cpp.
#include <array>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "backends/verbs/port/clock.hpp"
#include "calibration/measure/crowd.hpp"
#include "calibration/measure/epoll.hpp"
#include "calibration/measure/event.hpp"
#include "calibration/measure/names.hpp"
#include "calibration/measure/pairs.hpp"
#include "calibration/measure/probes.hpp"
#include "calibration/measure/stopwatch.hpp"

namespace rkv::calibration {
namespace {

using sampled::few_pairs;

// Awaited as the wait sets do, by epoll.
class WatchedEvent {
 public:
  void write() const { event_.write(); }
  // Before the deadline, which is far off.
  void await(Instant deadline) const {
    if (deadline != never && verbs::clock_now() >= deadline) return;
    const verbs::Timeout timeout(deadline, deadline == never ? Instant{} : verbs::clock_now());
    epoll_.wait(timeout.get());
    event_.read();
  }

 private:
  Event event_;
  Epoll epoll_{event_.fd(), "measuring the kernel"};
};

class WakeProbe final : public Probe {
 public:
  explicit WakeProbe(const MeasuredCpus& cpus) : cpus_(cpus) {}
  [[nodiscard]] std::string_view name() const override { return "wake-ups"; }
  [[nodiscard]] unsigned every() const override { return 2; }

  void repeat(Samples& samples) override {
    Timings timings;
    wake_patient(cpus_.first, sampled::wake_write_here, timings);
    wake_eager(cpus_.first, [&](const auto& wake) { timings.time(sampled::wake_preempting_here, wake); });
    if (cpus_.second) {
      const Caller caller(*cpus_.second);
      wake_patient(*cpus_.second, sampled::wake_write_busy, timings);
      double lost_ns = 0;  // what a wake-up took of that CPU is known by the next one
      wake_eager(*cpus_.second, [&](const auto& wake) {
        const double before_ns = std::exchange(lost_ns, caller.lost_ns());
        if (before_ns > 0) timings.add(sampled::lost_to_wake, lost_ns - before_ns);
        timings.time(sampled::wake_preempting, wake);
      });
    }
    timings.medians_to(samples);
    const Cpus own{cpus_.first};
    samples.add(sampled::wake_together, pairs(few_pairs, own, own).wake_ns);
    samples.add(sampled::wake_crowded, pairs(sampled::many_pairs, own, own).wake_ns);
    samples.add(sampled::wake_epoll_alone, deadline_pairs(1, never));
    samples.add(sampled::wake_deadline_alone, deadline_pairs(1, far_off()));
    samples.add(sampled::wake_epoll_together, deadline_pairs(few_pairs, never));
    samples.add(sampled::wake_deadline_together, deadline_pairs(few_pairs, far_off()));
    if (!cpus_.second) return;
    const Cpus both{cpus_.first, *cpus_.second};  // busy, each for half of the wake-ups
    samples.add(sampled::wake_beside, 2 * pairs(2 * few_pairs, both, both).wake_ns);
    const EachWake apart = pairs(sampled::apart_pairs, own, {*cpus_.second});
    samples.add(sampled::wake_apart, 2 * apart.wake_ns);
    samples.add(sampled::preempts_apart, apart.preempts);
  }

 private:
  using Cpus = std::vector<int>;

  void wake_patient(int cpu, const char* sample, Timings& timings) {
    std::array<Event, Crowd::size> to_crowd;
    Crowd crowd(cpu, Crowd::Manner::patient, [&](unsigned i) { to_crowd[i].read(); });
    for (unsigned n = 0; n < Crowd::waits; ++n) {
      crowd.await_sleep();
      for (const Event& event : to_crowd) timings.time(sample, [&] { event.write(); });
    }
    crowd.join();
  }

  // The next one when the last has been awake: by time(), which is given what wakes it.
  template <typename Time>
  void wake_eager(int cpu, const Time& time) {
    std::array<Event, Crowd::size> to_crowd;
    Crowd crowd(cpu, Crowd::Manner::eager, [&](unsigned i) { to_crowd[i].read(); });
    unsigned written = 0;
    for (unsigned n = 0; n < Crowd::waits; ++n) {
      crowd.await_sleep();
      for (const Event& event : to_crowd) {
        time([&] { event.write(); });
        crowd.await_woken(++written);
      }
    }
    crowd.join();
  }

  [[nodiscard]] EachWake pairs(unsigned count, const Cpus& here, const Cpus& there) const {
    return pairs_of<Event>(count, here, there, [](const Event& event) { event.read(); });
  }

  static Instant far_off() { return verbs::clock_now() + std::chrono::seconds{60}; }

  // Time of a wake-up; of each pair one waits so, the other by read(2).
  [[nodiscard]] double deadline_pairs(unsigned count, Instant deadline) const {
    return pairs_of<WatchedEvent>(count, {cpus_.first}, {cpus_.first},
                                  [deadline](const WatchedEvent& event) { event.await(deadline); })
        .wake_ns;
  }

  // One of each pair awaits its events so.
  template <typename Awaited, typename Await>
  [[nodiscard]] EachWake pairs_of(unsigned count, const Cpus& here, const Cpus& there,
                                  const Await& await) const {
    std::vector<Awaited> to_here(count);
    std::vector<Event> to_there(count);
    const PairsOf what{
        .pairs = count, .here_cpus = here, .there_cpus = there, .maker_cpus = cpus_.beside_first()};
    return run_pairs(what, [&](unsigned i) {
      return std::pair(PairedSide{[&, i] { to_there[i].write(); }, [&, i] { await(to_here[i]); }},
                       PairedSide{[&, i] { to_here[i].write(); }, [&, i] { to_there[i].read(); }});
    });
  }

  MeasuredCpus cpus_;
};

}  // namespace

std::unique_ptr<Probe> make_wake_probe(const Bench& bench, Samples& samples) {
  if (!bench.machine.cpus.second) {
    for (const char* name : {sampled::wake_write_busy, sampled::wake_preempting, sampled::lost_to_wake,
                             sampled::wake_apart, sampled::preempts_apart, sampled::wake_beside}) {
      samples.cannot(name, one_cpu_only);
    }
  }
  return std::make_unique<WakeProbe>(bench.machine.cpus);
}

}  // namespace rkv::calibration
