#include "backends/verbs/control/connection.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "core/error.hpp"

namespace rkv::control {
namespace {

constexpr std::size_t length_bytes = 4;
constexpr int max_nesting = 32;

std::string errno_text(int error) {
  return std::strerror(error);
}

int poll_timeout_ms(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

enum class Ready : std::uint8_t { yes, no };

Ready wait_for(int fd, short events, Clock::time_point deadline, int wake_fd) {
  for (;;) {
    std::array<pollfd, 2> fds{
        {{.fd = fd, .events = events, .revents = 0}, {.fd = wake_fd, .events = POLLIN, .revents = 0}}};
    const int ready = ::poll(fds.data(), fds.size(), poll_timeout_ms(deadline));
    if (ready < 0 && errno != EINTR) throw Error("poll: " + errno_text(errno));
    if (ready > 0) return fds[0].revents != 0 ? Ready::yes : Ready::no;
    if (Clock::now() >= deadline) return Ready::no;
  }
}

struct AddressList {
  addrinfo* first = nullptr;
  ~AddressList() {
    if (first != nullptr) ::freeaddrinfo(first);
  }
};

void resolve(const HostPort& address, int flags, AddressList& list) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  const int failed =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list.first);
  if (failed != 0) throw Error(fmt::format("{}: {}", address.host, ::gai_strerror(failed)));
}

void set_options(int socket) {
  constexpr int on = 1;
  constexpr int idle_s = 10;
  constexpr int interval_s = 5;
  constexpr int probes = 3;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

std::string numeric_host(const sockaddr* address, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  if (::getnameinfo(address, length, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0) return "?";
  return host.data();
}

}  // namespace

HostPort parse_host_port(const std::string& text, std::uint16_t default_port, const std::string& option) {
  HostPort result{.host = text, .port = default_port};
  std::string port;
  if (!text.empty() && text.front() == '[') {
    const std::size_t end = text.find(']');
    if (end == std::string::npos || (end + 1 < text.size() && text[end + 1] != ':')) {
      throw InputError(fmt::format("{} {}: write an IPv6 address as [address]:port", option, text));
    }
    result.host = text.substr(1, end - 1);
    if (end + 1 < text.size()) port = text.substr(end + 2);
  } else if (const std::size_t colon = text.find(':');
             colon != std::string::npos && text.find(':', colon + 1) == std::string::npos) {
    result.host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (port.empty()) port = "?";
  }
  if (!port.empty()) {
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), result.port);
    if (error != std::errc() || end != port.data() + port.size()) {
      throw InputError(fmt::format("{} {}: the port must be a number from 0 to 65535", option, text));
    }
  }
  if (result.host.empty()) throw InputError(fmt::format("{} {}: no host given", option, text));
  return result;
}

std::string Connection::peer_host() const {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  ::getpeername(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length);
  return numeric_host(reinterpret_cast<sockaddr*>(&address), length);
}

void Connection::send(const nlohmann::json& message) {
  // A text from elsewhere (a file's name in a reason, say) need not be UTF-8.
  const std::string text = message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > largest_frame_bytes) throw Error("a message to " + peer_ + " would be too long");
  std::vector<char> frame(length_bytes + text.size());
  const auto length = static_cast<std::uint32_t>(text.size());
  for (std::size_t i = 0; i < length_bytes; ++i) frame[i] = static_cast<char>(length >> (8 * i) & 0xff);
  std::memcpy(frame.data() + length_bytes, text.data(), text.size());
  constexpr auto patience = std::chrono::seconds(10);
  const Clock::time_point deadline = Clock::now() + patience;
  for (std::size_t sent = 0; sent < frame.size();) {
    const ssize_t n =
        ::send(socket_.get(), frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      sent += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN) {
      if (wait_for(socket_.get(), POLLOUT, deadline, -1) == Ready::no) {
        throw Error(peer_ + " has not read for 10 s");
      }
    } else if (errno != EINTR) {
      throw Error(fmt::format("{} is gone: {}", peer_, errno_text(errno)));
    }
  }
}

std::optional<nlohmann::json> Connection::take_message() {
  if (read_.size() < length_bytes) return std::nullopt;
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) {
    length |= static_cast<std::uint32_t>(static_cast<unsigned char>(read_[i])) << (8 * i);
  }
  if (length > largest_frame_bytes) {
    throw Error(
        fmt::format("{} sent a message of {} bytes: not an rkv-real, or another version", peer_, length));
  }
  if (read_.size() - length_bytes < length) return std::nullopt;
  const auto begin = read_.begin() + static_cast<std::ptrdiff_t>(length_bytes);
  const auto end = begin + static_cast<std::ptrdiff_t>(length);
  int deepest = 0;
  const auto shallow = [&deepest](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    deepest = std::max(deepest, depth);
    return depth <= max_nesting;
  };
  nlohmann::json message = nlohmann::json::parse(begin, end, shallow, false);
  if (message.is_discarded() || !message.is_object() || deepest > max_nesting) {
    throw Error(peer_ + " sent a message that is no JSON object: not an rkv-real, or another version");
  }
  read_.erase(read_.begin(), end);
  return message;
}

std::optional<nlohmann::json> Connection::receive(Clock::time_point deadline, int wake_fd) {
  for (;;) {
    if (auto message = take_message()) return message;
    if (wait_for(socket_.get(), POLLIN, deadline, wake_fd) == Ready::no) return std::nullopt;
    std::array<char, 65536> chunk{};
    const ssize_t n = ::recv(socket_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (n > 0) {
      read_.insert(read_.end(), chunk.begin(), chunk.begin() + n);
    } else if (n == 0) {
      throw Error(peer_ + " is gone: it closed the control connection");
    } else if (errno != EAGAIN && errno != EINTR) {
      throw Error(fmt::format("{} is gone: {}", peer_, errno_text(errno)));
    }
  }
}

Listener::Listener(const HostPort& address) {
  AddressList list;
  resolve(address, AI_PASSIVE, list);
  const std::string shown = fmt::format("{}:{}", address.host, address.port);
  socket_ = FileDescriptor(::socket(list.first->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket_.get() < 0) throw Error(fmt::format("a socket for {}: {}", shown, errno_text(errno)));
  const int on = 1;
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket_.get(), list.first->ai_addr, list.first->ai_addrlen) != 0 ||
      ::listen(socket_.get(), 64) != 0) {
    const int error = errno;
    throw Error(
        fmt::format("listening on {}: {}{}", shown, errno_text(error),
                    error == EADDRINUSE ? "; another server has this port, choose one with --listen" : ""));
  }
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&bound), &length);
  host_ = numeric_host(reinterpret_cast<sockaddr*>(&bound), length);
  port_ = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                            : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
}

std::optional<Connection> Listener::accept(Clock::time_point deadline, int wake_fd) {
  for (;;) {
    if (wait_for(socket_.get(), POLLIN, deadline, wake_fd) == Ready::no) return std::nullopt;
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    FileDescriptor socket(
        ::accept4(socket_.get(), reinterpret_cast<sockaddr*>(&from), &length, SOCK_CLOEXEC));
    if (socket.get() >= 0) {
      set_options(socket.get());
      return Connection(std::move(socket),
                        "the client at " + numeric_host(reinterpret_cast<sockaddr*>(&from), length));
    }
    if (errno != EINTR && errno != ECONNABORTED && errno != EAGAIN) {
      throw Error("accepting a control connection: " + errno_text(errno));
    }
  }
}

Connection dial(const HostPort& address, Clock::time_point deadline, int wake_fd) {
  AddressList list;
  resolve(address, 0, list);
  const std::string shown = fmt::format("{}:{}", address.host, address.port);
  int error = 0;
  for (const addrinfo* at = list.first; at != nullptr; at = at->ai_next) {
    FileDescriptor socket(::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.get() < 0) {
      error = errno;
      continue;
    }
    if (::connect(socket.get(), at->ai_addr, at->ai_addrlen) != 0) {
      error = errno;
      if (error != EINPROGRESS) continue;
      if (wait_for(socket.get(), POLLOUT, deadline, wake_fd) == Ready::no) {
        if (Clock::now() < deadline) throw Error("interrupted while calling the server at " + shown);
        error = ETIMEDOUT;
        continue;
      }
      socklen_t length = sizeof error;
      ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
      if (error != 0) continue;
    }
    set_options(socket.get());
    return {std::move(socket), "the server at " + shown};
  }
  throw Error(fmt::format("no rkv-real server at {}: {}{}", shown, errno_text(error),
                          error == ECONNREFUSED ? "; start one there with rkv-real --role server" : ""));
}

}  // namespace rkv::control
