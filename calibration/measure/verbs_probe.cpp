// Each call is timed by itself while a message goes from one CPU to another and nobody waits for it by
// spinning on the queue: a flag passes the turn. So it has the cache misses that it has in a run. With one
// CPU both ends are on one thread.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "backends/verbs/port/completion_queue.hpp"
#include "calibration/measure/asleep.hpp"
#include "calibration/measure/crowd.hpp"
#include "calibration/measure/epoll.hpp"
#include "calibration/measure/names.hpp"
#include "calibration/measure/probes.hpp"
#include "calibration/measure/stopwatch.hpp"
#include "calibration/measure/turns.hpp"
#include "calibration/measure/verbs_link.hpp"

namespace rkv::calibration {
namespace {

constexpr unsigned verbs_messages = 100;
constexpr unsigned verbs_round_trips = 100;
constexpr unsigned events = 50;
constexpr unsigned verbs_wake_ups = 10;
constexpr unsigned looks = 500;

using sampled::large_message_bytes;
using sampled::small_message_bytes;
using Side = Turns::Side;

constexpr std::array<std::pair<Transport, std::string_view>, 3> transports{
    {{Transport::rc, "rc"}, {Transport::uc, "uc"}, {Transport::ud, "ud"}}};

// Watches one completion channel, as a wait set that blocks does.
class ChannelPoll {
 public:
  explicit ChannelPoll(CompletionQueue& queue)
      : queue_(dynamic_cast<verbs::VerbsCompletionQueue&>(queue)),
        epoll_(queue_.channel_fd(), queue_.device()) {}

  [[nodiscard]] double arm_ns() {
    queue_.arm();
    return each_of(events, [&] { keep(::ibv_req_notify_cq(queue_.get(), 0)); });
  }
  // An event that is there or comes; arms again.
  void take() {
    epoll_.wait();
    queue_.consume_event();
  }

 private:
  verbs::VerbsCompletionQueue& queue_;
  Epoll epoll_;
};

class TransportProbe {
 public:
  TransportProbe(verbs::RealPort& port, Transport transport, std::string_view name, const StopFlag& stop)
      : name_(name),
        polled_(port.port(), transport, false, stop),
        watched_(port.port(), transport, true, stop),
        channel_(watched_.there.receives()) {
    if (transport != Transport::uc) return;
    for (unsigned i = 0; i < Crowd::size; ++i) {
      crowd_links_.push_back(std::make_unique<VerbsLink>(port.port(), transport, true, stop));
    }
  }

  void time_calls(const std::optional<int>& other_cpu, Samples& samples) {
    polled_.here.look_for_receive(looks);  // what ran before has filled the caches
    samples.add(of(sampled::empty_poll), each_of(1, [&] { polled_.here.look_for_receive(looks); }) / looks);
    Timings sender;
    Timings receiver;
    for (const auto& [bytes, posting] : {std::pair(small_message_bytes, sampled::post_send_small),
                                         std::pair(large_message_bytes, sampled::post_send_large)}) {
      const auto post = [&, bytes = bytes, name = of(posting)] {
        sender.time(name, [&] { polled_.here.post_send(bytes); });
        sender.time(of(sampled::poll_send), [&] { polled_.here.take_send(); });
      };
      const auto prepare = [&] {
        receiver.time(of(sampled::post_receive), [&] { polled_.there.post_receive(); });
      };
      const auto take = [&] {
        receiver.time(of(sampled::poll_receive), [&] { polled_.there.take_receive(); });
      };
      if (other_cpu) {
        in_turns(*other_cpu, post, prepare, take);
      } else {
        for (unsigned i = 0; i < verbs_messages; ++i) {
          prepare();
          post();
          take();
        }
      }
    }
    sender.medians_to(samples);
    receiver.medians_to(samples);
  }

  // Both ends on this thread: what posting together saves is the poster's own.
  void time_chains(Samples& samples) {
    constexpr std::uint32_t count = sampled::posted_together;
    const auto times = [](std::uint32_t n, const auto& action) {
      for (std::uint32_t i = 0; i < n; ++i) action();
    };
    Timings timings;
    for (unsigned i = 0; i < verbs_messages; ++i) {
      const bool together = i % 2 == 1;
      const std::uint32_t posts = together ? 1 : count;
      const std::uint32_t each = together ? count : 1;
      timings.time(of(together ? sampled::receives_together : sampled::receives_apart),
                   [&] { times(posts, [&] { polled_.there.post_receives(each); }); });
      timings.time(of(together ? sampled::sends_together : sampled::sends_apart),
                   [&] { times(posts, [&] { polled_.here.post_sends(small_message_bytes, each); }); });
      times(count, [&] { polled_.there.take_receive(); });
      times(count, [&] { polled_.here.take_send(); });
    }
    timings.medians_to(samples);
  }

  void time_events(Samples& samples) {
    samples.add(of(sampled::arm), channel_.arm_ns());
    Timings timings;
    for (unsigned i = 0; i < events; ++i) {
      watched_.there.post_receive();
      timings.time(of(sampled::post_send_armed), [&] { watched_.here.post_send(small_message_bytes); });
      timings.time(of(sampled::take_event), [&] { channel_.take(); });
      watched_.there.take_receive();
      watched_.here.take_send();
    }
    timings.medians_to(samples);
  }

  void time_round_trips(int other_cpu, Samples& samples) {
    const auto time = [&](const char* what, std::uint32_t bytes, std::uint32_t read_bytes) {
      time_round_trips(other_cpu, {.name = of(what), .bytes = bytes, .read_bytes = read_bytes}, samples);
    };
    time(sampled::round_trip, small_message_bytes, 0);
    time(sampled::round_trip_unread, sampled::request_bytes, 0);
    time(sampled::round_trip_read, sampled::request_bytes, sampled::request_bytes);
  }

  void time_wake_ups(int other_cpu, Samples& samples) {
    Timings timings;
    Sleeper sleeper;
    run_two(
        other_cpu,
        [&](Turns& turns) {
          turns.pass(Side::here);  // the sleeper tells who it is
          turns.await(Side::here);
          for (unsigned i = 0; i < verbs_wake_ups; ++i) {
            watched_.there.post_receive();
            turns.pass(Side::here);
            sleeper.await_sleep();
            timings.time(sampled::post_send_waking, [&] { watched_.here.post_send(small_message_bytes); });
            turns.await(Side::here);
            watched_.here.take_send();
          }
        },
        [&](Turns& turns) {
          turns.await(Side::there);
          sleeper.is_this_thread();
          turns.pass(Side::there);
          for (unsigned i = 0; i < verbs_wake_ups; ++i) {
            turns.await(Side::there);
            watched_.there.await_receive();
            turns.pass(Side::there);
          }
        });
    timings.medians_to(samples);
  }

  // The same calls with both ends on this thread: nothing is in another CPU's caches.
  void time_calls_here(Samples& samples) {
    Timings timings;
    for (unsigned i = 0; i < verbs_messages; ++i) {
      polled_.there.post_receive();
      timings.time(sampled::post_send_here, [&] { polled_.here.post_send(small_message_bytes); });
      polled_.here.take_send();
      timings.time(sampled::poll_receive_here, [&] { polled_.there.take_receive(); });
    }
    timings.medians_to(samples);
  }

  void time_wake_ups_here(int cpu, Samples& samples) {
    Timings timings;
    Crowd crowd(cpu, Crowd::Manner::patient, [&](unsigned i) {
      crowd_links_[i]->there.post_receive();
      crowd_links_[i]->there.await_receive();
    });
    for (unsigned n = 0; n < Crowd::waits; ++n) {
      crowd.await_sleep();
      for (const auto& link : crowd_links_) {
        timings.time(sampled::post_send_waking_here, [&] { link->here.post_send(small_message_bytes); });
        link->here.take_send();
      }
    }
    crowd.join();
    timings.medians_to(samples);
  }

 private:
  struct RoundTrip {
    std::string name;
    std::uint32_t bytes;       // of a message
    std::uint32_t read_bytes;  // of it, by either side, beside its header
  };

  [[nodiscard]] std::string of(std::string_view what) const { return sampled::of(name_, what); }

  void time_round_trips(int other_cpu, const RoundTrip& trip, Samples& samples) {
    const auto send = [&](VerbsEnd& end) {
      end.post_send(trip.bytes);
      end.take_send();
    };
    const auto take = [&](VerbsEnd& end) {
      end.take_receive();
      end.read_message(trip.read_bytes);
    };
    polled_.there.post_receive();
    run_two(
        other_cpu,
        [&](Turns&) {
          Timings timings;
          for (unsigned i = 0; i < verbs_round_trips; ++i) {
            polled_.here.post_receive();
            timings.time(trip.name, [&] {
              send(polled_.here);
              take(polled_.here);
            });
          }
          timings.medians_to(samples);
        },
        [&](Turns&) {
          for (unsigned i = 0; i + 1 < verbs_round_trips; ++i) {
            take(polled_.there);
            polled_.there.post_receive();
            send(polled_.there);
          }
          take(polled_.there);
          send(polled_.there);
        });
  }

  template <typename Post, typename Prepare, typename Take>
  static void in_turns(int other_cpu, const Post& post, const Prepare& prepare, const Take& take) {
    run_two(
        other_cpu,
        [&](Turns& turns) {
          for (unsigned i = 0; i < verbs_messages; ++i) {
            turns.pass(Side::here);
            turns.await(Side::here);
            post();
          }
          turns.pass(Side::here);
          turns.await(Side::here);
        },
        [&](Turns& turns) {
          turns.await(Side::there);
          for (unsigned i = 0; i < verbs_messages; ++i) {
            prepare();
            turns.pass(Side::there);
            turns.await(Side::there);
            take();
          }
          turns.pass(Side::there);
        });
  }

  std::string_view name_;
  VerbsLink polled_;
  VerbsLink watched_;
  ChannelPoll channel_;
  std::vector<std::unique_ptr<VerbsLink>> crowd_links_;  // UC's
};

class VerbsProbe final : public Probe {
 public:
  VerbsProbe(const MeasuredCpus& cpus, verbs::RealPort& port)
      : cpu_(cpus.first),
        other_cpu_(cpus.second),
        soft_(port.device()->soft()),
        stop_(port.port().runtime->make_stop_flag()),
        alone_(port.port(), Transport::uc, false, *stop_) {
    for (const auto& [transport, name] : transports) {
      transports_.push_back(std::make_unique<TransportProbe>(port, transport, name, *stop_));
    }
    const VerbsEnd peer(port.port(), Transport::uc, false, *stop_);
    alone_.connect(peer);  // which is gone then
  }

  [[nodiscard]] std::string_view name() const override { return "verbs"; }

  void repeat(Samples& samples) override {
    for (std::size_t i = 0; i < transports_.size(); ++i) {
      TransportProbe& transport = *transports_[i];
      transport.time_calls(other_cpu_, samples);
      transport.time_chains(samples);
      transport.time_events(samples);
      if (transports[i].first == Transport::uc) {
        transport.time_calls_here(samples);
        transport.time_wake_ups_here(cpu_, samples);
      }
      if (!other_cpu_) continue;
      transport.time_round_trips(*other_cpu_, samples);
      if (transports[i].first == Transport::uc) {
        transport.time_wake_ups(*other_cpu_, samples);
      }
    }
    if (soft_) time_unreceived(samples);
  }

 private:
  void time_unreceived(Samples& samples) {
    Timings timings;
    for (unsigned i = 0; i < verbs_messages; ++i) {
      timings.time(sampled::post_send_unreceived, [&] { alone_.post_send(small_message_bytes); });
      alone_.take_send();
    }
    timings.medians_to(samples);
  }

  int cpu_;
  std::optional<int> other_cpu_;
  bool soft_;
  std::unique_ptr<StopFlag> stop_;
  VerbsEnd alone_;
  std::vector<std::unique_ptr<TransportProbe>> transports_;
};

}  // namespace

std::unique_ptr<Probe> make_verbs_probe(const Bench& bench, verbs::RealPort& port, Samples& samples) {
  if (!bench.machine.cpus.second) {
    samples.cannot(sampled::post_send_waking, one_cpu_only);
    for (const auto& [transport, name] : transports) {
      for (const char* trip : {sampled::round_trip, sampled::round_trip_unread, sampled::round_trip_read}) {
        samples.cannot(sampled::of(name, trip), one_cpu_only);
      }
    }
  }
  return std::make_unique<VerbsProbe>(bench.machine.cpus, port);
}

}  // namespace rkv::calibration
