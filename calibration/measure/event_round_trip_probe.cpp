// Waking threads of idle CPUs as a run with one client does: both sides sleep. For as long as such a run
// lasts: what a hypervisor takes for it grows within tenths of a second.
#include <memory>

#include "calibration/measure/names.hpp"
#include "calibration/measure/probes.hpp"
#include "calibration/measure/stopwatch.hpp"
#include "calibration/measure/turns.hpp"
#include "calibration/measure/verbs_link.hpp"

namespace rkv::calibration {
namespace {

constexpr unsigned round_trips = 6000;
constexpr unsigned few_round_trips = 100;
// In which a CPU whose thread waits has become idle. Who is woken works for so long before it answers: else
// it may wake a thread that is still on its way to sleep.
constexpr Duration idle_by_then{10'000};

class EventRoundTripProbe final : public Probe {
 public:
  EventRoundTripProbe(int other_cpu, const Effort& effort, verbs::RealPort& port)
      : other_cpu_(other_cpu),
        round_trips_(effort.quick ? few_round_trips : round_trips),
        stop_(port.port().runtime->make_stop_flag()),
        link_(port.port(), Transport::uc, true, *stop_) {}

  [[nodiscard]] std::string_view name() const override { return "round trips by events"; }
  [[nodiscard]] unsigned every() const override { return 4; }

  void repeat(Samples& samples) override {
    const auto send = [](VerbsEnd& end) {
      work_for(idle_by_then);
      end.post_send(sampled::small_message_bytes);
      end.take_send();
    };
    link_.there.post_receive();
    run_two(
        other_cpu_,
        [&](Turns&) {
          const double round_trip_ns = each_of(round_trips_, [&] {
            link_.here.post_receive();
            send(link_.here);
            link_.here.await_receive();
          });
          samples.add(sampled::event_round_trip,
                      round_trip_ns - 2.0 * static_cast<double>(idle_by_then.count()));
        },
        [&](Turns&) {
          for (unsigned i = 0; i < round_trips_; ++i) {
            link_.there.await_receive();
            if (i + 1 < round_trips_) link_.there.post_receive();
            send(link_.there);
          }
        });
  }

 private:
  int other_cpu_;
  unsigned round_trips_;
  std::unique_ptr<StopFlag> stop_;
  VerbsLink link_;
};

}  // namespace

std::unique_ptr<Probe> make_event_round_trip_probe(const Bench& bench, verbs::RealPort& port,
                                                   Samples& samples) {
  if (bench.machine.cpus.second) {
    return std::make_unique<EventRoundTripProbe>(*bench.machine.cpus.second, bench.effort, port);
  }
  samples.cannot(sampled::event_round_trip, one_cpu_only);
  return nullptr;
}

}  // namespace rkv::calibration
