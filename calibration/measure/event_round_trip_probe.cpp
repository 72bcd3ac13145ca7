// Waking threads of idle CPUs as a run with one client does: both sides sleep. What a hypervisor takes for it
// grows within the first tenth of a second (in turns of 6000 round trips of 105 us, the first 600 took 76 to
// 98 us), and now and then its host has others run first: for seconds, round trips take 200 to 900 us, as
// they do in a run that comes then. So there are many turns, of which the median one counts.
#include <functional>
#include <memory>

#include "calibration/measure/names.hpp"
#include "calibration/measure/pairs.hpp"
#include "calibration/measure/probes.hpp"
#include "calibration/measure/stopwatch.hpp"
#include "calibration/measure/tcp_link.hpp"
#include "calibration/measure/turns.hpp"
#include "calibration/measure/verbs_link.hpp"

namespace rkv::calibration {
namespace {

constexpr unsigned round_trips = 3000;
constexpr unsigned few_round_trips = 100;
// Who is woken works for so long before it answers, as in a run. Not for longer: what a hypervisor takes to
// wake a CPU grows with how long that has slept (with 10 us, round trips of 97 to 107 us took 4 to 18 more in
// four of five turns).
constexpr Duration work_before{2'000};

struct EventSide {
  std::function<void()> prepare;  // for the next message, which may come from then on
  PairedSide messages;
};

// Both transports in turn: what one of them takes more than the other is told by the same state of the
// machine, repetition by repetition.
class EventRoundTripProbe final : public Probe {
 public:
  EventRoundTripProbe(int other_cpu, const Effort& effort, verbs::RealPort& port)
      : other_cpu_(other_cpu),
        round_trips_(effort.quick ? few_round_trips : round_trips),
        stop_(port.port().runtime->make_stop_flag()),
        link_(port.port(), Transport::uc, true, *stop_) {}

  [[nodiscard]] std::string_view name() const override { return "round trips by events"; }
  [[nodiscard]] unsigned every() const override { return 2; }

  void repeat(Samples& samples) override {
    const double by_verbs = round_trip_ns(verbs_side(link_.here), verbs_side(link_.there));
    const double by_tcp = round_trip_ns(tcp_side(tcp_.here()), tcp_side(tcp_.there()));
    samples.add(sampled::event_round_trip, by_verbs);
    samples.add(sampled::tcp_event_round_trip, by_tcp);
    samples.add(sampled::tcp_event_more, by_tcp - by_verbs);
  }

 private:
  static EventSide verbs_side(VerbsEnd& end) {
    return {.prepare = [&] { end.post_receive(); }, .messages = paired_by_events(end)};
  }

  static EventSide tcp_side(int fd) {
    return {.prepare = [] {}, .messages = paired_by_messages(fd)};
  }

  // Without the pauses.
  [[nodiscard]] double round_trip_ns(const EventSide& here, const EventSide& there) const {
    double each_ns = 0;
    there.prepare();
    run_two(
        other_cpu_,
        [&](Turns&) {
          each_ns = each_of(round_trips_, [&] {
            here.prepare();
            work_for(work_before);
            here.messages.wake_other();
            here.messages.await_other();
          });
        },
        [&](Turns&) {
          for (unsigned i = 0; i < round_trips_; ++i) {
            there.messages.await_other();
            if (i + 1 < round_trips_) there.prepare();
            work_for(work_before);
            there.messages.wake_other();
          }
        });
    return each_ns - 2.0 * static_cast<double>(work_before.count());
  }

  int other_cpu_;
  unsigned round_trips_;
  std::unique_ptr<StopFlag> stop_;
  VerbsLink link_;
  TcpLink tcp_;
};

}  // namespace

std::unique_ptr<Probe> make_event_round_trip_probe(const Bench& bench, verbs::RealPort& port,
                                                   Samples& samples) {
  if (bench.machine.cpus.second) {
    return std::make_unique<EventRoundTripProbe>(*bench.machine.cpus.second, bench.effort, port);
  }
  for (const char* name : {sampled::event_round_trip, sampled::tcp_event_round_trip, sampled::tcp_event_more})
    samples.cannot(name, one_cpu_only);
  return nullptr;
}

}  // namespace rkv::calibration
