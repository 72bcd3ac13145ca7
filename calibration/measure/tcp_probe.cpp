#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "backends/verbs/port/file_descriptor.hpp"
#include "backends/verbs/port/system_error.hpp"
#include "calibration/measure/names.hpp"
#include "calibration/measure/pairs.hpp"
#include "calibration/measure/probes.hpp"
#include "calibration/measure/stopwatch.hpp"
#include "calibration/measure/turns.hpp"
#include "core/error.hpp"

namespace rkv::calibration {
namespace {

constexpr unsigned tcp_messages = 100;
constexpr unsigned tcp_calls = 200;
constexpr unsigned tcp_round_trips = 100;
constexpr std::string_view where = "TCP over loopback";

using verbs::FileDescriptor;

FileDescriptor checked(int fd, std::string_view call) {
  if (fd < 0) throw verbs::system_error(where, call, errno);
  return FileDescriptor(fd);
}

void check(int result, std::string_view call) {
  if (result != 0) throw verbs::system_error(where, call, errno);
}

// A connection's two ends, with the options of backends/verbs/port/tcp_stream.cpp.
class Connection {
 public:
  Connection() {
    const FileDescriptor listener = checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    check(::bind(listener.get(), generic, length), "bind");
    check(::listen(listener.get(), 1), "listen");
    check(::getsockname(listener.get(), generic, &length), "getsockname");
    here_ = checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
    check(::connect(here_.get(), generic, length), "connect");
    there_ = checked(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept4");
    const int on = 1;
    for (const FileDescriptor* end : {&here_, &there_}) {
      check(::setsockopt(end->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "setsockopt");
    }
  }
  [[nodiscard]] int here() const { return here_.get(); }
  [[nodiscard]] int there() const { return there_.get(); }

 private:
  FileDescriptor here_;
  FileDescriptor there_;
};

void send_all(int fd, std::span<const std::byte> bytes) {
  if (::send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) !=
      static_cast<ssize_t>(bytes.size())) {
    throw verbs::system_error(where, "send", errno);
  }
}

// Spins until all have come; sleeps with `flags` of 0.
void receive_all(int fd, std::span<std::byte> bytes, int flags = MSG_DONTWAIT) {
  while (!bytes.empty()) {
    const ssize_t count = ::recv(fd, bytes.data(), bytes.size(), flags);
    if (count > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      throw verbs::system_error(where, "recv", errno);
    }
  }
}

class TcpProbe final : public Probe {
 public:
  explicit TcpProbe(const MeasuredCpus& cpus)
      : cpu_(cpus.first),
        other_cpu_(cpus.second),
        epoll_(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")) {
    if (connection_.there() >= FD_SETSIZE)
      throw Error("TCP over loopback: too many open files for select(2)");
    epoll_event event{};
    event.events = EPOLLIN;
    check(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connection_.there(), &event), "epoll_ctl");
  }

  [[nodiscard]] std::string_view name() const override { return "TCP"; }

  void repeat(Samples& samples) override {
    Timings timings;
    time_messages(sampled::tcp_small_bytes, sampled::tcp_send_small, sampled::tcp_receive_small, timings);
    time_messages(sampled::tcp_large_bytes, sampled::tcp_send_large, sampled::tcp_receive_large, timings);
    timings.medians_to(samples);
    time_looks(samples);
    time_pairs(samples);
    if (other_cpu_) time_round_trips(samples);
  }

 private:
  // To and fro, so that acknowledgements travel with data as they do between client and server.
  void time_messages(std::size_t bytes, const char* sending, const char* receiving, Timings& timings) {
    const std::span message = std::span(buffer_).first(bytes);
    for (unsigned i = 0; i < tcp_messages; ++i) {
      const auto [from, to] = i % 2 == 0 ? std::pair(connection_.here(), connection_.there())
                                         : std::pair(connection_.there(), connection_.here());
      timings.time(sending, [&, from = from] { send_all(from, message); });
      timings.time(receiving, [&, to = to] { receive_all(to, message); });
    }
  }

  void time_looks(Samples& samples) {
    const int fd = connection_.there();
    const std::span message = std::span(buffer_).first(1);
    samples.add(sampled::tcp_empty_receive,
                each_of(tcp_calls, [&] { keep(::recv(fd, buffer_.data(), 1, MSG_DONTWAIT)); }));
    send_all(connection_.here(), message);
    epoll_event event{};
    samples.add(sampled::tcp_epoll,
                each_of(tcp_calls, [&] { keep(::epoll_pwait2(epoll_.get(), &event, 1, nullptr, nullptr)); }));
    samples.add(sampled::tcp_select, each_of(tcp_calls, [&] {
                  fd_set readable;
                  FD_ZERO(&readable);
                  FD_SET(fd, &readable);
                  keep(::pselect(fd + 1, &readable, nullptr, nullptr, nullptr, nullptr));
                }));
    receive_all(fd, message);
  }

  // Threads of one CPU.
  void time_pairs(Samples& samples) const {
    using Message = std::array<std::byte, sampled::tcp_small_bytes>;
    const std::vector<Connection> connections(sampled::few_pairs);
    const auto side = [](int fd) {
      return PairedSide{[fd] { send_all(fd, Message{}); },
                        [fd] {
                          Message message;
                          receive_all(fd, message, 0);
                        }};
    };
    const EachWake each = run_pairs(
        {.pairs = sampled::few_pairs, .here_cpu = cpu_, .there_cpu = cpu_},
        [&](unsigned i) { return std::pair(side(connections[i].here()), side(connections[i].there())); });
    samples.add(sampled::tcp_together, each.wake_ns);
  }

  void time_round_trips(Samples& samples) {
    run_two(
        *other_cpu_,
        [&](Turns&) {
          std::array<std::byte, sampled::tcp_small_bytes> message{};
          Timings timings;
          for (unsigned i = 0; i < tcp_round_trips; ++i) {
            timings.time(sampled::tcp_round_trip, [&] {
              send_all(connection_.here(), message);
              receive_all(connection_.here(), message);
            });
          }
          timings.medians_to(samples);
        },
        [&](Turns&) {
          std::array<std::byte, sampled::tcp_small_bytes> message{};
          for (unsigned i = 0; i < tcp_round_trips; ++i) {
            receive_all(connection_.there(), message);
            send_all(connection_.there(), message);
          }
        });
  }

  int cpu_;
  std::optional<int> other_cpu_;
  Connection connection_;
  FileDescriptor epoll_;
  std::array<std::byte, sampled::tcp_large_bytes> buffer_{};
};

}  // namespace

std::unique_ptr<Probe> make_tcp_probe(const Bench& bench, Samples& samples) {
  if (!bench.machine.cpus.second) samples.cannot(sampled::tcp_round_trip, one_cpu_only);
  return std::make_unique<TcpProbe>(bench.machine.cpus);
}

}  // namespace rkv::calibration
