// Puts a network between the queue pairs of one process: every packet that is sent to the mirror's address
// comes back from there, as if another host had sent it. Two queue pairs that are connected by way of that
// address reach each other over the wire, so that tests of one process judge it (RKV_TEST_VIA_ADDRESS, which
// the command gets, leads the tests of verbs that way). On its way a packet may be lost, doubled, overtaken
// or damaged.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "backends/verbs/soft/wire/icrc.hpp"
#include "backends/verbs/soft/wire/packet.hpp"

namespace {

using rkv::soft::wire::Ipv4Path;
using rkv::soft::wire::udp_port;

constexpr std::uint32_t first_address = 0x7f'01'00'01;  // beyond those that soft0 takes by itself
constexpr std::uint32_t addresses = 4'096;
constexpr std::size_t datagram_bytes_max = 8'192;

struct Faults {
  double drop = 0;
  double duplicate = 0;
  double reorder = 0;
  double damage = 0;
  std::uint64_t seed = 1;
};

struct Counts {
  std::uint64_t passed = 0;
  std::uint64_t dropped = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
  std::uint64_t damaged = 0;
};

class Mirror {
 public:
  explicit Mirror(const Faults& faults) : faults_(faults), random_(faults.seed) { bind_free(); }

  int socket() const { return socket_; }
  std::string address() const {
    std::array<char, INET_ADDRSTRLEN> text{};
    const in_addr number{htonl(address_)};
    ::inet_ntop(AF_INET, &number, text.data(), text.size());
    return text.data();
  }
  const Counts& counts() const { return counts_; }

  // All that has come.
  void pass_on() {
    std::vector<std::byte> datagram(datagram_bytes_max);
    for (;;) {
      sockaddr_in from{};
      socklen_t from_bytes = sizeof from;
      const auto got = ::recvfrom(socket_, datagram.data(), datagram.size(), MSG_DONTWAIT,
                                  reinterpret_cast<sockaddr*>(&from), &from_bytes);
      if (got < 0) return;
      const std::span<std::byte> packet = std::span(datagram).first(static_cast<std::size_t>(got));
      if (got < 16) continue;
      // As a router has it: what was damaged before stays so.
      const Ipv4Path inbound{.source_address = ntohl(from.sin_addr.s_addr),
                             .destination_address = address_,
                             .source_port = ntohs(from.sin_port),
                             .destination_port = udp_port};
      if (rkv::soft::wire::integrity(inbound, packet) != rkv::soft::wire::Integrity::broken) {
        rkv::soft::wire::seal({.source_address = address_,
                               .destination_address = inbound.source_address,
                               .source_port = udp_port,
                               .destination_port = udp_port},
                              packet);
      }
      from.sin_port = htons(udp_port);  // a sender's own port takes none
      send_on(packet, from);
    }
  }

 private:
  void bind_free() {
    socket_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    constexpr int discovery = IP_PMTUDISC_DO;
    ::setsockopt(socket_, IPPROTO_IP, IP_MTU_DISCOVER, &discovery, sizeof discovery);
    constexpr int buffer_bytes = 4 << 20;
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof buffer_bytes);
    for (address_ = first_address; address_ < first_address + addresses; ++address_) {
      sockaddr_in own{};
      own.sin_family = AF_INET;
      own.sin_port = htons(udp_port);
      own.sin_addr.s_addr = htonl(address_);
      if (::bind(socket_, reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0) return;
    }
    throw std::runtime_error(fmt::format("no address can be bound: {}", std::strerror(errno)));
  }

  bool happens(double probability) {
    return probability > 0 && std::uniform_real_distribution<double>(0, 1)(random_) < probability;
  }

  void send(std::span<const std::byte> packet, const sockaddr_in& to) {
    ++counts_.passed;
    ::sendto(socket_, packet.data(), packet.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  }

  void send_on(std::span<std::byte> packet, const sockaddr_in& to) {
    if (happens(faults_.drop)) {
      ++counts_.dropped;
      return;
    }
    if (happens(faults_.damage)) {
      ++counts_.damaged;
      // Bits that the ICRC covers. The first eight bytes hold some that it doesn't.
      packet[8 + random_() % (packet.size() - 8)] ^= static_cast<std::byte>(1 << random_() % 8);
    }
    if (held_.empty() && happens(faults_.reorder)) {
      ++counts_.reordered;
      held_.assign(packet.begin(), packet.end());
      return;
    }
    send(packet, to);
    if (happens(faults_.duplicate)) {
      ++counts_.duplicated;
      send(packet, to);
    }
    if (!held_.empty()) {
      send(held_, to);
      held_.clear();
    }
  }

  Faults faults_;
  std::mt19937_64 random_;
  Counts counts_;
  int socket_ = -1;
  std::uint32_t address_ = 0;
  std::vector<std::byte> held_;
};

pid_t start(const std::vector<std::string>& command, const std::string& via) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("RKV_TEST_VIA_ADDRESS", via.c_str(), 1);
    ::execvp(arguments.front(), arguments.data());
    fmt::print(stderr, "wire_mirror: {}: {}\n", command.front(), std::strerror(errno));
    ::_exit(127);
  }
  return child;
}

int exit_status(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  fmt::print(stderr, "wire_mirror: the command was killed by signal {}\n", WTERMSIG(status));
  return 128 + WTERMSIG(status);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "wire_mirror [OPTIONS] -- COMMAND: runs a command whose queue pairs reach each other by way of this "
      "program, over soft0's wire. Its exit status is the command's.");
  Faults faults;
  std::vector<std::string> command;
  app.add_option("--drop", faults.drop, "Probability that a packet is lost")->check(CLI::Range(0.0, 1.0));
  app.add_option("--duplicate", faults.duplicate, "... comes twice")->check(CLI::Range(0.0, 1.0));
  app.add_option("--reorder", faults.reorder, "... is overtaken by the next one")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--damage", faults.damage, "... has a wrong bit")->check(CLI::Range(0.0, 1.0));
  app.add_option("--seed", faults.seed, "Of the faults");
  app.add_option("command", command, "What to run")->required();
  CLI11_PARSE(app, argc, argv);
  try {
    Mirror mirror(faults);
    const pid_t child = start(command, mirror.address());
    const auto ended = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
    std::array<pollfd, 2> awaited{pollfd{.fd = mirror.socket(), .events = POLLIN, .revents = 0},
                                  pollfd{.fd = ended, .events = POLLIN, .revents = 0}};
    while (awaited[1].revents == 0) {
      ::poll(awaited.data(), awaited.size(), -1);
      mirror.pass_on();
    }
    const Counts& counts = mirror.counts();
    fmt::print(stderr, "wire_mirror: {} packets passed, {} lost, {} doubled, {} overtaken, {} damaged\n",
               counts.passed, counts.dropped, counts.duplicated, counts.reordered, counts.damaged);
    const int status = exit_status(child);
    if (status == 0 && counts.passed == 0) {
      fmt::print(stderr, "wire_mirror: the command sent nothing this way\n");
      return 1;
    }
    return status;
  } catch (const std::exception& error) {
    fmt::print(stderr, "wire_mirror: {}\n", error.what());
    return 2;
  }
}
