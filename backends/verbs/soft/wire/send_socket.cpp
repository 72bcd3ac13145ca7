#include "backends/verbs/soft/wire/send_socket.hpp"

#include <arpa/inet.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "backends/verbs/soft/wire/endpoint.hpp"
#include "backends/verbs/soft/wire/packet.hpp"

namespace rkv::soft::wire {
namespace {

constexpr std::size_t headers_bytes = 20 + 8;  // IPv4 without options, UDP
constexpr std::size_t identification_at = 4;

sockaddr_in port_at(std::uint32_t address) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(udp_port);
  at.sin_addr.s_addr = htonl(address);
  return at;
}

bool ask_for_times(int fd, unsigned which) {
  return ::setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &which, sizeof which) == 0;
}

}  // namespace

SendSocket::~SendSocket() {
  close();
}

void SendSocket::open() {
  port_ = udp_port;
  own_ = Endpoint::instance().open_sender(port_);
  used_ = own_ >= 0 ? own_ : Endpoint::instance().socket();
}

bool SendSocket::connect(std::uint32_t destination) {
  close();
  own_ = used_ = Endpoint::instance().open_sender(port_);
  const sockaddr_in to = port_at(destination);
  if (own_ < 0 || ::connect(own_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 ||
      !learn_identification()) {
    close();
    return false;
  }
  destination_ = destination;
  return true;
}

bool SendSocket::learn_identification() {
  constexpr unsigned when_queued = SOF_TIMESTAMPING_TX_SCHED | SOF_TIMESTAMPING_SOFTWARE;
  if (!ask_for_times(own_, when_queued) || ::send(own_, nullptr, 0, 0) != 0) return false;
  // In front of these headers is the link's, of a size that depends on it.
  std::array<std::uint8_t, 256> sent{};
  const auto got = ::recv(own_, sent.data(), sent.size(), MSG_ERRQUEUE | MSG_DONTWAIT);
  if (got < static_cast<ssize_t>(headers_bytes) || !ask_for_times(own_, 0)) return false;
  const auto headers = std::span(sent).first(static_cast<std::size_t>(got)).last(headers_bytes);
  const auto number_at = [&](std::size_t at) {
    return static_cast<std::uint16_t>(headers[at] << 8 | headers[at + 1]);
  };
  constexpr std::size_t source_port_at = 20;
  constexpr std::uint8_t version_and_length = 0x45;
  if (headers[0] != version_and_length || number_at(source_port_at) != port_) return false;
  identification_ = static_cast<std::uint16_t>(number_at(identification_at) + 1);
  return true;
}

bool SendSocket::set_cut(std::size_t bytes) {
  const int value = static_cast<int>(bytes);
  if (::setsockopt(own_, IPPROTO_UDP, UDP_SEGMENT, &value, sizeof value) != 0) return false;
  cut_bytes_ = bytes;
  return true;
}

bool SendSocket::send(std::span<const std::byte> bytes, std::uint32_t destination) {
  const bool connected = destination_ != 0;
  const sockaddr_in to = port_at(destination);
  while (::sendto(used_, bytes.data(), bytes.size(), 0,
                  connected ? nullptr : reinterpret_cast<const sockaddr*>(&to),
                  connected ? 0 : sizeof to) < 0) {
    if (errno == EINTR) continue;
    if (connected) close();
    return false;
  }
  if (connected) ++identification_;
  return true;
}

void SendSocket::close() {
  const int reason = errno;
  if (own_ >= 0) ::close(own_);
  own_ = used_ = -1;
  destination_ = 0;
  cut_bytes_ = 0;
  errno = reason;
}

}  // namespace rkv::soft::wire
