#include "backends/verbs/soft/cm/stream.hpp"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "backends/verbs/soft/cm/socket_address.hpp"

namespace rkv::soft::cm {
namespace {

constexpr int max_syn_retries = 5;  // 63 s in all
constexpr int max_refusals = 10;
constexpr std::uint64_t refusal_pause_ns = 20'000'000;

}  // namespace

Stream::Stream(verbs::FileDescriptor socket, StreamOwner& owner)
    : socket_(std::move(socket)), owner_(&owner) {
  constexpr int at_once = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
}

Stream::~Stream() {
  Reactor::instance().unwatch(*this, socket_.get());
}

int Stream::connect(const sockaddr& destination) {
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_SYNCNT, &max_syn_retries, sizeof max_syn_retries);
  copy_address(destination_, destination);
  const int error = begin_connecting();
  if (error != 0 && error != ECONNREFUSED) return error;
  if (const int failure = Reactor::instance().watch(*this, socket_.get(), EPOLLOUT); failure != 0)
    return failure;
  if (error != 0) {
    Reactor::instance().pause(socket_.get());
    waits_for_listener(error);
  }
  return 0;
}

int Stream::begin_connecting() {
  const auto& destination = reinterpret_cast<const sockaddr&>(destination_);
  const auto attempt = [&] {
    return ::connect(socket_.get(), &destination, length_of(&destination)) == 0 ? 0 : errno;
  };
  connecting_ = true;
  int error = attempt();
  if (error == ECONNABORTED) error = attempt();  // the first call after a refusal only ends that one
  return error == EINPROGRESS ? 0 : error;
}

int Stream::watch() {
  return Reactor::instance().watch(*this, socket_.get(), EPOLLIN);
}

bool Stream::send(const Message& message) {
  std::array<std::byte, max_message_bytes> bytes;
  const std::size_t count = encode(message, bytes);
  // A connection carries so few messages that one without room for them has a peer that does not read.
  return ::send(socket_.get(), bytes.data(), count, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(count);
}

void Stream::on_ready(std::uint32_t) {
  if (connecting_) {
    finish_connecting();
  } else {
    receive();
  }
}

void Stream::finish_connecting() {
  int error = 0;
  socklen_t bytes = sizeof error;
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) error = errno;
  Reactor::instance().pause(socket_.get());
  if (waits_for_listener(error)) return;
  connecting_ = false;
  if (error == 0) Reactor::instance().resume(*this, socket_.get(), EPOLLIN);
  owner_->on_connected(error);
}

bool Stream::waits_for_listener(int error) {
  if (error != ECONNREFUSED || ++refusals_ == max_refusals) return false;
  set_deadline(refusal_pause_ns);
  return true;
}

void Stream::on_deadline() {
  if (!connecting_) {
    owner_->on_deadline();
  } else if (const int error = begin_connecting(); error == 0) {
    Reactor::instance().resume(*this, socket_.get(), EPOLLOUT);
  } else if (!waits_for_listener(error)) {
    owner_->on_connected(error);
  }
}

void Stream::receive() {
  const auto room = std::span(arrived_).subspan(arrived_bytes_);
  const ssize_t count = ::recv(socket_.get(), room.data(), room.size(), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    owner_->on_closed(count == 0 ? ECONNRESET : errno);
    return;
  }
  arrived_bytes_ += static_cast<std::size_t>(count);
  Message message;
  for (;;) {
    const int taken = decode(std::span(arrived_).first(arrived_bytes_), message);
    if (taken == 0) return;
    if (taken < 0) {
      owner_->on_closed(EPROTO);
      return;
    }
    std::copy(arrived_.begin() + taken, arrived_.begin() + static_cast<std::ptrdiff_t>(arrived_bytes_),
              arrived_.begin());
    arrived_bytes_ -= static_cast<std::size_t>(taken);
    if (!owner_->on_message(message)) return;
  }
}

}  // namespace rkv::soft::cm
