#include "calibration/measure/tcp_link.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "backends/verbs/port/system_error.hpp"
#include "calibration/measure/names.hpp"

namespace rkv::calibration {
namespace {

using verbs::FileDescriptor;

// What the system call gave, or its error.
FileDescriptor checked_call(int fd, std::string_view call) {
  if (fd < 0) throw verbs::system_error(tcp_over_loopback, call, errno);
  return FileDescriptor(fd);
}

void check_call(int result, std::string_view call) {
  if (result != 0) throw verbs::system_error(tcp_over_loopback, call, errno);
}

}  // namespace

TcpLink::TcpLink() {
  const FileDescriptor listener = checked_call(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  check_call(::bind(listener.get(), generic, length), "bind");
  check_call(::listen(listener.get(), 1), "listen");
  check_call(::getsockname(listener.get(), generic, &length), "getsockname");
  here_ = checked_call(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  check_call(::connect(here_.get(), generic, length), "connect");
  there_ = checked_call(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept4");
  const int on = 1;
  for (const FileDescriptor* end : {&here_, &there_}) {
    check_call(::setsockopt(end->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "setsockopt");
  }
}

void send_all(int fd, std::span<const std::byte> bytes) {
  if (::send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) !=
      static_cast<ssize_t>(bytes.size())) {
    throw verbs::system_error(tcp_over_loopback, "send", errno);
  }
}

void receive_all(int fd, std::span<std::byte> bytes, int flags) {
  while (!bytes.empty()) {
    const ssize_t count = ::recv(fd, bytes.data(), bytes.size(), flags);
    if (count > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      throw verbs::system_error(tcp_over_loopback, "recv", errno);
    }
  }
}

PairedSide paired_by_messages(int fd) {
  using Message = std::array<std::byte, sampled::tcp_small_bytes>;
  return {.wake_other = [fd] { send_all(fd, Message{}); },
          .await_other =
              [fd] {
                Message message;
                receive_all(fd, message, 0);
              }};
}

EachWake run_pairs_by_messages(const PairsOf& what, std::span<const TcpLink> connections) {
  return run_pairs(what, [&](unsigned i) {
    return std::pair(paired_by_messages(connections[i].here()), paired_by_messages(connections[i].there()));
  });
}

}  // namespace rkv::calibration
