#include "backends/verbs/port/tcp_stream.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "backends/verbs/port/system_error.hpp"

namespace rkv::verbs {
namespace {

template <typename Value>
void set_option(int fd, int level, int option, const Value& value, const std::string& peer) {
  if (::setsockopt(fd, level, option, &value, sizeof value) != 0) {
    throw system_error(peer, "setsockopt", errno);
  }
}

}  // namespace

TcpStream::TcpStream(FileDescriptor connected, const StreamSpec& spec, const std::string& peer)
    : socket_(std::move(connected)),
      wait_(spec.wait),
      receive_(spec.receive_capacity),
      transmit_(spec.transmit_capacity) {
  if (spec.receive_capacity == 0 || spec.receive_capacity > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(peer + ": a stream's receive capacity must be from 1 byte to 4 GiB - 1");
  }
  set_option(fd(), IPPROTO_TCP, TCP_NODELAY, int{1}, peer);
  const timeval slice{0, std::chrono::duration_cast<std::chrono::microseconds>(receive_slice).count()};
  set_option(fd(), SOL_SOCKET, SO_RCVTIMEO, slice, peer);
}

bool TcpStream::receive(int flags, Completion& arrival) {
  const std::span<std::byte> space = receive_.free_space();
  const ssize_t count = ::recv(fd(), space.data(), space.size(), flags);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return false;
  arrival = Completion{};
  if (count > 0) {
    receive_.fill(static_cast<std::size_t>(count));
    arrival.bytes = static_cast<std::uint32_t>(count);
  } else {  // 0: the peer closed in order; < 0: reset, timed out or unreachable, which is as final
    ended_ = true;
    arrival.status = CompletionStatus::closed;
  }
  return true;
}

StreamSend TcpStream::send(std::span<const std::byte> bytes) {
  if (wants_write()) flush();
  std::size_t sent = 0;
  if (!broken_ && !wants_write()) sent = send_some(bytes);
  if (broken_) return StreamSend::closed;
  const std::span<const std::byte> rest = bytes.subspan(sent);
  if (rest.size() > transmit_.room()) {
    give_up();
    ::shutdown(fd(), SHUT_WR);
    return StreamSend::overflow;
  }
  if (!rest.empty()) {
    std::memcpy(transmit_.free_space().data(), rest.data(), rest.size());
    transmit_.fill(rest.size());
  }
  return StreamSend::accepted;
}

void TcpStream::close() {
  if (wants_write()) flush();
  give_up();
  ended_ = true;
  ::shutdown(fd(), SHUT_RDWR);
}

void TcpStream::flush() {
  transmit_.consume(send_some(transmit_.bytes()));
}

std::size_t TcpStream::send_some(std::span<const std::byte> bytes) {
  for (;;) {
    const ssize_t count = ::send(fd(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS) give_up();
    return 0;
  }
}

void TcpStream::give_up() {
  broken_ = true;
  transmit_.clear();
}

}  // namespace rkv::verbs
