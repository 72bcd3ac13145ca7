#include "backends/verbs/soft/wire/outbox.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "backends/verbs/soft/wire/counters.hpp"
#include "backends/verbs/soft/wire/endpoint.hpp"
#include "backends/verbs/soft/wire/icrc.hpp"

namespace rkv::soft::wire {
namespace {

constexpr std::size_t sent_train_bytes_max = 65'000;  // a UDP datagram's, with room for its headers
// Whether the kernel cuts trains into packets.
std::atomic<bool> kernel_cuts{true};

}  // namespace

Outbox& Outbox::of_this_thread() {
  // A plain pointer, so that what is sent at the process's exit, after thread-local objects are gone, finds
  // another one.
  thread_local Outbox* own = nullptr;
  thread_local const struct Owner {
    ~Owner() { delete std::exchange(own, nullptr); }
  } owner;
  if (own == nullptr) {
    own = new Outbox;
    static_cast<void>(&owner);  // makes it
  }
  return *own;
}

Outbox::Outbox()
    : source_port_(udp_port),
      own_socket_(Endpoint::instance().open_sender(source_port_)),
      socket_(own_socket_ >= 0 ? own_socket_ : Endpoint::instance().socket()) {}

Outbox::~Outbox() {
  if (own_socket_ >= 0) ::close(own_socket_);
}

std::byte* Outbox::payload_place(Service service, Operation operation) {
  return next_place() + header_bytes(headers_of(service, operation).value_or(Headers{}));
}

void Outbox::add(const Packet& packet, std::uint32_t destination, PacketFaults* faults) {
  const std::span<std::byte> datagram(next_place(), packet_bytes(packet));
  build(packet, datagram);
  if (faults == nullptr || !FaultStream::active()) {
    count_in(datagram.size(), destination);
    return;
  }
  const bool overtakes = !faults->held.empty();
  switch (faults->stream.draw_message_fault(faults->stream_number, !overtakes)) {
    case MessageFault::drop:
      return;
    case MessageFault::reorder:
      faults->held.assign(datagram.begin(), datagram.end());
      return;
    case MessageFault::duplicate: {
      const std::span<const std::byte> again = datagram;
      count_in(datagram.size(), destination);
      add_copy(again, destination);
      break;
    }
    case MessageFault::none:
      count_in(datagram.size(), destination);
  }
  if (overtakes) {
    add_copy(faults->held, destination);
    faults->held.clear();
  }
}

void Outbox::add_copy(std::span<const std::byte> datagram, std::uint32_t destination) {
  std::ranges::copy(datagram, next_place());
  count_in(datagram.size(), destination);
}

void Outbox::count_in(std::size_t bytes, std::uint32_t destination) {
  waiting_[count_] = {.at = used_bytes_, .bytes = bytes, .destination = destination};
  used_bytes_ += bytes;
  if (++count_ == packets_max) {
    send();
  }
}

void Outbox::send() {
  if (count_ == 0) return;
  wire::count(counters().packets_sent, count_);
  for (std::size_t first = 0; first < count_;) {
    const std::size_t end = train_end(first);
    send_train(first, end);
    first = end;
  }
  count_ = 0;
  used_bytes_ = 0;
}

// The first packet that can't go as one with those from `first` on: all are of the size of the first, but for
// the last, which may be shorter.
std::size_t Outbox::train_end(std::size_t first) const {
  const Waiting& front = waiting_[first];
  std::size_t end = first + 1;
  std::size_t bytes = front.bytes;
  while (end < count_ && waiting_[end].destination == front.destination &&
         waiting_[end - 1].bytes == front.bytes && waiting_[end].bytes <= front.bytes &&
         bytes + waiting_[end].bytes <= sent_train_bytes_max) {
    bytes += waiting_[end++].bytes;
  }
  return end;
}

void Outbox::send_train(std::size_t first, std::size_t end) {
  if (end - first > 1 && kernel_cuts.load(std::memory_order_relaxed) && send_as_one(first, end)) return;
  for (std::size_t i = first; i < end; ++i) {
    seal_packet(waiting_[i], 0);
    if (!send_whole(waiting_[i])) wire::count(counters().refused_by_system);
  }
}

bool Outbox::send_whole(const Waiting& packet) {
  const bool would_be_cut = cut_bytes_ != 0 && packet.bytes > cut_bytes_;
  if (!would_be_cut && send_bytes(packet, packet.bytes)) return true;
  // An interface that can't cut may refuse what is short enough, too, while a size is set.
  return cut_bytes_ != 0 && set_cut(0) && send_bytes(packet, packet.bytes);
}

bool Outbox::send_as_one(std::size_t first, std::size_t end) {
  const Waiting& front = waiting_[first];
  const Waiting& last = waiting_[end - 1];
  if (cut_bytes_ == front.bytes || set_cut(front.bytes)) {
    for (std::size_t i = first; i < end; ++i) {
      seal_packet(waiting_[i], static_cast<std::uint16_t>(i - first));
    }
    if (send_bytes(front, last.at + last.bytes - front.at)) return true;
  }
  // An interface that can't sum up checksums can't cut either: don't ask again.
  if (errno == EIO || errno == EOPNOTSUPP || errno == ENOPROTOOPT)
    kernel_cuts.store(false, std::memory_order_relaxed);
  return false;
}

bool Outbox::set_cut(std::size_t bytes) {
  const int value = static_cast<int>(bytes);
  if (::setsockopt(own_socket_, IPPROTO_UDP, UDP_SEGMENT, &value, sizeof value) != 0) return false;
  cut_bytes_ = bytes;
  return true;
}

// The bytes from a packet on, to its address. False: with errno.
bool Outbox::send_bytes(const Waiting& first, std::size_t bytes) const {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(udp_port);
  to.sin_addr.s_addr = htonl(first.destination);
  while (::sendto(socket_, bytes_.data() + first.at, bytes, 0, reinterpret_cast<const sockaddr*>(&to),
                  sizeof to) < 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

void Outbox::seal_packet(const Waiting& packet, std::uint16_t identification) {
  seal({.source_address = Endpoint::instance().address(),
        .destination_address = packet.destination,
        .source_port = source_port_,
        .destination_port = udp_port,
        .identification = identification},
       std::span(bytes_).subspan(packet.at, packet.bytes));
}

}  // namespace rkv::soft::wire
