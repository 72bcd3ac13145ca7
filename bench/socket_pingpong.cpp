// A busy ping-pong between two threads over TCP or UDP on the loopback interface: what kernel sockets cost
// when nobody ever sleeps. Prints the median and the 99th percentile of the round trips in nanoseconds; or,
// with
// --stream, how fast messages go one way over TCP.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::uint32_t bytes = 352;
  std::uint32_t iterations = 100'000;
  std::vector<int> cores{0, 1};
  bool udp = false;
  bool stream = false;
};

// What a call returned, unless it failed.
template <typename T>
T checked(T result, const char* call) {
  if (result < 0) {
    throw std::runtime_error(fmt::format("{}: {}", call, std::strerror(errno)));
  }
  return result;
}

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  Socket& operator=(Socket&&) = delete;
  ~Socket() {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
  }
  [[nodiscard]] int get() const { return descriptor_; }

  void no_delay() const {
    const int on = 1;
    checked(setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), "setsockopt");
  }

 private:
  int descriptor_;
};

// Two UDP sockets, each connected to the other.
std::pair<Socket, Socket> datagrams() {
  Socket one(checked(socket(AF_INET, SOCK_DGRAM, 0), "socket"));
  Socket other(checked(socket(AF_INET, SOCK_DGRAM, 0), "socket"));
  const auto bound = [](const Socket& each) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    checked(bind(each.get(), generic, length), "bind");
    checked(getsockname(each.get(), generic, &length), "getsockname");
    return address;
  };
  const sockaddr_in first = bound(one);
  const sockaddr_in second = bound(other);
  checked(connect(one.get(), reinterpret_cast<const sockaddr*>(&second), sizeof(second)), "connect");
  checked(connect(other.get(), reinterpret_cast<const sockaddr*>(&first), sizeof(first)), "connect");
  return {std::move(one), std::move(other)};
}

// Both ends of a connection.
std::pair<Socket, Socket> connected() {
  const Socket listener(checked(socket(AF_INET, SOCK_STREAM, 0), "socket"));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  checked(bind(listener.get(), generic, length), "bind");
  checked(listen(listener.get(), 1), "listen");
  checked(getsockname(listener.get(), generic, &length), "getsockname");
  Socket one(checked(socket(AF_INET, SOCK_STREAM, 0), "socket"));
  checked(connect(one.get(), generic, length), "connect");
  Socket other(checked(accept(listener.get(), nullptr, nullptr), "accept"));
  one.no_delay();
  other.no_delay();
  return {std::move(one), std::move(other)};
}

void pin(pthread_t thread, int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  const int error = pthread_setaffinity_np(thread, sizeof(set), &set);
  if (error != 0) {
    throw std::runtime_error(fmt::format("cannot run on CPU {}: {}", core, std::strerror(error)));
  }
}

// Spins until the whole message is through. False: the other end is gone.
template <typename Call>
bool transfer(Call call, std::vector<char>& message) {
  std::size_t done = 0;
  while (done < message.size()) {
    const ssize_t bytes = call(message.data() + done, message.size() - done);
    if (bytes > 0) {
      done += static_cast<std::size_t>(bytes);
    } else if (bytes == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) {
      return false;
    }
  }
  return true;
}

bool receive(const Socket& socket, std::vector<char>& message) {
  return transfer([&](char* at, std::size_t room) { return recv(socket.get(), at, room, MSG_DONTWAIT); },
                  message);
}

bool send(const Socket& socket, std::vector<char>& message) {
  return transfer(
      [&](char* at, std::size_t left) { return ::send(socket.get(), at, left, MSG_DONTWAIT | MSG_NOSIGNAL); },
      message);
}

// Runs one end here and the other in a thread, each on its core. `here` tells whether the connection held;
// the thread ends when this end is shut down, at the latest.
template <typename Here>
void run_pinned(const Options& options, const Socket& end, std::thread other, Here here) {
  const auto end_other = [&] {
    shutdown(end.get(), SHUT_RDWR);
    other.join();
  };
  bool whole = false;
  try {
    pin(pthread_self(), options.cores.at(0));
    pin(other.native_handle(), options.cores.at(1));
    whole = here();
  } catch (...) {
    end_other();
    throw;
  }
  end_other();
  if (!whole) {
    throw std::runtime_error("the connection broke");
  }
}

// One way: what was sent is through when the answer to the last message is there.
void stream(const Options& options) {
  auto [out, in] = connected();
  std::thread taking([&options, in = std::move(in)] {
    std::vector<char> message(options.bytes);
    for (std::uint32_t i = 0; i < options.iterations && receive(in, message); ++i) {
    }
    message.resize(1);
    send(in, message);
  });
  run_pinned(options, out, std::move(taking), [&options, &out = out] {
    std::vector<char> message(options.bytes);
    bool whole = true;
    const Clock::time_point start = Clock::now();
    for (std::uint32_t i = 0; i < options.iterations && whole; ++i) whole = send(out, message);
    message.resize(1);
    whole = whole && receive(out, message);
    const std::chrono::duration<double> took = Clock::now() - start;
    fmt::print("tcp stream {} B: {:.1f} MB/s\n", options.bytes,
               1.0 * options.bytes * options.iterations / took.count() / 1e6);
    return whole;
  });
}

void ping_pong(const Options& options) {
  auto [ping, pong] = options.udp ? datagrams() : connected();
  // Over UDP nobody tells when the other end is gone.
  const std::uint32_t rounds = options.iterations + options.iterations / 10;
  std::thread answering([&options, rounds, pong = std::move(pong)] {
    std::vector<char> message(options.bytes);
    for (std::uint32_t i = 0; i < rounds && receive(pong, message) && send(pong, message); ++i) {
    }
  });

  std::vector<std::int64_t> round_trips_ns;
  round_trips_ns.reserve(options.iterations);
  run_pinned(options, ping, std::move(answering), [&options, &round_trips_ns, &ping = ping] {
    std::vector<char> message(options.bytes);
    bool whole = true;
    const std::uint32_t warm_up = options.iterations / 10;
    for (std::uint32_t i = 0; i < warm_up + options.iterations && whole; ++i) {
      const Clock::time_point start = Clock::now();
      whole = send(ping, message) && receive(ping, message);
      if (i >= warm_up) {
        round_trips_ns.push_back(
            std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
      }
    }
    return whole;
  });
  std::sort(round_trips_ns.begin(), round_trips_ns.end());
  fmt::print("{} busy {} B: median {} ns, p99 {} ns round trip\n", options.udp ? "udp" : "tcp", options.bytes,
             round_trips_ns[round_trips_ns.size() / 2], round_trips_ns[round_trips_ns.size() * 99 / 100]);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"A busy ping-pong over TCP or UDP on the loopback interface, between two pinned threads",
               "rkv_bench_socket_pingpong"};
  app.add_option("--bytes", options.bytes, "message size")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--iterations", options.iterations, "round trips to time, after a tenth more to warm up")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  app.add_option("--cores", options.cores, "where the two threads are pinned")->expected(2)->delimiter(',');
  auto* const udp = app.add_flag("--udp", options.udp, "UDP in place of TCP; messages fit in a datagram");
  app.add_flag("--stream", options.stream, "messages go one way, over TCP")->excludes(udp);
  CLI11_PARSE(app, argc, argv);
  try {
    options.stream ? stream(options) : ping_pong(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "rkv_bench_socket_pingpong: {}\n", error.what());
    return 1;
  }
  return 0;
}
