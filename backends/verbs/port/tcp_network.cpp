#include "backends/verbs/port/tcp_network.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "backends/verbs/port/clock.hpp"
#include "backends/verbs/port/socket_address.hpp"
#include "backends/verbs/port/system_error.hpp"
#include "backends/verbs/port/tcp_stream.hpp"

namespace rkv::verbs {
namespace {

// False when the deadline passed first.
bool await(int fd, short events, Instant deadline, const std::string& where) {
  for (;;) {
    pollfd event{fd, events, 0};
    const Instant now = clock_now();
    const int count = ::ppoll(&event, 1, Timeout(deadline, now).get(), nullptr);
    if (count > 0) return true;
    if (count < 0 && errno != EINTR) throw system_error(where, "ppoll", errno);
    if (count == 0 && clock_now() >= deadline) return false;
  }
}

FileDescriptor make_socket(const SocketAddress& address, const std::string& where) {
  FileDescriptor socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) throw system_error(where, "socket", errno);
  return socket;
}

class TcpListener final : public StreamListener {
 public:
  TcpListener(const std::string& host, std::uint32_t backlog) {
    const SocketAddress any_port = parse_address({host, 0});
    socket_ = make_socket(any_port, host);
    if (::bind(socket_.get(), any_port.get(), any_port.length) != 0) throw system_error(host, "bind", errno);
    const auto waiting = static_cast<int>(std::min<std::uint32_t>(backlog, std::numeric_limits<int>::max()));
    if (::listen(socket_.get(), waiting) != 0) throw system_error(host, "listen", errno);
    address_ = bound_address(socket_.get());
  }

  [[nodiscard]] StreamAddress address() const override { return address_; }

  std::unique_ptr<Stream> accept(const StreamSpec& spec, Instant deadline) override {
    const std::string where = to_string(address_);
    while (await(socket_.get(), POLLIN, deadline, where)) {
      FileDescriptor connected(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (connected.valid()) return std::make_unique<TcpStream>(std::move(connected), spec, where);
      // The connection may be gone again, or another thread may have taken it.
      if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
        throw system_error(where, "accept", errno);
      }
    }
    return nullptr;
  }

 private:
  FileDescriptor socket_;
  StreamAddress address_;
};

}  // namespace

std::unique_ptr<StreamListener> TcpNetwork::listen(std::uint32_t backlog) {
  return std::make_unique<TcpListener>(service_host_, backlog);
}

std::unique_ptr<Stream> TcpNetwork::dial(const StreamAddress& address, const StreamSpec& spec,
                                         Instant deadline) {
  const std::string where = to_string(address);
  const SocketAddress peer = parse_address(address);
  FileDescriptor socket = make_socket(peer, where);
  if (::connect(socket.get(), peer.get(), peer.length) != 0) {
    if (errno != EINPROGRESS && errno != EINTR) throw system_error(where, "connect", errno);
    if (!await(socket.get(), POLLOUT, deadline, where)) throw system_error(where, "connect", ETIMEDOUT);
    int failure = 0;
    socklen_t length = sizeof failure;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &failure, &length) != 0) failure = errno;
    if (failure != 0) throw system_error(where, "connect", failure);
  }
  // Blocking from now on: a thread that waits for this stream alone sleeps in recv(2).
  const int flags = ::fcntl(socket.get(), F_GETFL);
  if (flags < 0 || ::fcntl(socket.get(), F_SETFL, flags & ~O_NONBLOCK) != 0) {
    throw system_error(where, "fcntl", errno);
  }
  return std::make_unique<TcpStream>(std::move(socket), spec, where);
}

}  // namespace rkv::verbs
