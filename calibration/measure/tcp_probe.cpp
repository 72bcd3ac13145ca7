#include <sys/select.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/verbs/port/system_error.hpp"
#include "calibration/measure/epoll.hpp"
#include "calibration/measure/event.hpp"
#include "calibration/measure/names.hpp"
#include "calibration/measure/pairs.hpp"
#include "calibration/measure/probes.hpp"
#include "calibration/measure/stopwatch.hpp"
#include "calibration/measure/tcp_link.hpp"
#include "calibration/measure/turns.hpp"
#include "core/error.hpp"

namespace rkv::calibration {
namespace {

constexpr unsigned tcp_messages = 100;
constexpr unsigned tcp_calls = 200;
constexpr unsigned tcp_round_trips = 100;

class TcpProbe final : public Probe {
 public:
  explicit TcpProbe(const MeasuredCpus& cpus) : cpus_(cpus) {}

  [[nodiscard]] std::string_view name() const override { return "TCP"; }

  void repeat(Samples& samples) override {
    Timings timings;
    time_messages(sampled::tcp_small_bytes, sampled::tcp_send_small, sampled::tcp_receive_small, timings);
    time_messages(sampled::tcp_large_bytes, sampled::tcp_send_large, sampled::tcp_receive_large, timings);
    timings.medians_to(samples);
    time_looks(samples);
    time_pairs(samples);
    if (cpus_.second) time_round_trips(samples);
  }

 private:
  // To and fro, so that acknowledgements travel with data as they do between client and server.
  void time_messages(std::size_t bytes, const char* sending, const char* receiving, Timings& timings) {
    const std::span message = std::span(buffer_).first(bytes);
    for (unsigned i = 0; i < tcp_messages; ++i) {
      const auto [from, to] = i % 2 == 0 ? std::pair(connection_.here(), connection_.there())
                                         : std::pair(connection_.there(), connection_.here());
      timings.time(sending, [&, from = from] { send_all(from, message); });
      timings.time(receiving, [&, to = to] { receive_all(to, message, MSG_DONTWAIT); });
    }
  }

  void time_looks(Samples& samples) {
    const int fd = connection_.there();
    const std::span message = std::span(buffer_).first(1);
    samples.add(sampled::tcp_empty_receive,
                each_of(tcp_calls, [&] { keep(::recv(fd, buffer_.data(), 1, MSG_DONTWAIT)); }));
    send_all(connection_.here(), message);
    samples.add(sampled::tcp_epoll, each_of(tcp_calls, [&] { epoll_.wait(); }));
    receive_all(fd, message, MSG_DONTWAIT);
  }

  // Threads of one CPU.
  void time_pairs(Samples& samples) const {
    const std::vector<TcpLink> connections(sampled::few_pairs);
    for (const TcpLink& connection : connections) {
      if (std::max(connection.there(), never_.fd()) >= FD_SETSIZE) {
        throw Error(std::string(tcp_over_loopback) + ": too many open files for select(2)");
      }
    }
    const PairsOf few = pairs_on_first(cpus_, sampled::few_pairs);
    samples.add(sampled::tcp_together, run_pairs_by_messages(few, connections).wake_ns);
    const EachWake select = run_pairs(few, [&](unsigned i) {
      const int fd = connections[i].there();
      PairedSide there = paired_by_messages(fd);
      there.await_other = [this, fd] {
        select_two(fd, never_.fd());
        std::array<std::byte, sampled::tcp_small_bytes> message;
        receive_all(fd, message, MSG_DONTWAIT);
      };
      return std::pair(paired_by_messages(connections[i].here()), there);
    });
    samples.add(sampled::tcp_together_select, select.wake_ns);
  }

  // As rkv's worker does, which watches a flag as well (verbs/port/stream_wait.cpp).
  static void select_two(int fd, int other) {
    fd_set readable;
    fd_set writable;
    int ready = -1;
    while (ready < 0) {
      FD_ZERO(&readable);
      FD_ZERO(&writable);
      FD_SET(fd, &readable);
      FD_SET(other, &readable);
      ready = ::pselect(std::max(fd, other) + 1, &readable, &writable, nullptr, nullptr, nullptr);
      if (ready < 0 && errno != EINTR) throw verbs::system_error(tcp_over_loopback, "pselect", errno);
    }
  }

  void time_round_trips(Samples& samples) {
    run_two(
        *cpus_.second,
        [&](Turns&) {
          std::array<std::byte, sampled::tcp_small_bytes> message{};
          Timings timings;
          for (unsigned i = 0; i < tcp_round_trips; ++i) {
            timings.time(sampled::tcp_round_trip, [&] {
              send_all(connection_.here(), message);
              receive_all(connection_.here(), message, MSG_DONTWAIT);
            });
          }
          timings.medians_to(samples);
        },
        [&](Turns&) {
          std::array<std::byte, sampled::tcp_small_bytes> message{};
          for (unsigned i = 0; i < tcp_round_trips; ++i) {
            receive_all(connection_.there(), message, MSG_DONTWAIT);
            send_all(connection_.there(), message);
          }
        });
  }

  MeasuredCpus cpus_;
  TcpLink connection_;
  Event never_;  // written
  Epoll epoll_{connection_.there(), tcp_over_loopback};
  std::array<std::byte, sampled::tcp_large_bytes> buffer_{};
};

class TcpCrowdProbe final : public Probe {
 public:
  explicit TcpCrowdProbe(const MeasuredCpus& cpus) : cpus_(cpus) {}

  [[nodiscard]] std::string_view name() const override { return "many pairs by TCP"; }
  [[nodiscard]] unsigned every() const override { return 2; }

  // Connected only meanwhile: select(2), which is measured as well, takes few open files.
  void repeat(Samples& samples) override {
    const PairsOf many = pairs_on_first(cpus_, sampled::many_pairs);
    samples.add(sampled::tcp_crowded, run_pairs_by_messages(many, std::vector<TcpLink>(many.pairs)).wake_ns);
  }

 private:
  MeasuredCpus cpus_;
};

}  // namespace

std::unique_ptr<Probe> make_tcp_crowd_probe(const Bench& bench) {
  return std::make_unique<TcpCrowdProbe>(bench.machine.cpus);
}

std::unique_ptr<Probe> make_tcp_probe(const Bench& bench, Samples& samples) {
  if (!bench.machine.cpus.second) samples.cannot(sampled::tcp_round_trip, one_cpu_only);
  return std::make_unique<TcpProbe>(bench.machine.cpus);
}

}  // namespace rkv::calibration
