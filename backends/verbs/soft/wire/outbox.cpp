#include "backends/verbs/soft/wire/outbox.hpp"

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
// Who has sent so many to one address, and to no other between them, gets a socket connected to it.
constexpr std::size_t trains_before_connecting = 64;
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

Outbox::Outbox() {
  to_anywhere_.open();
}

std::byte* Outbox::payload_place(Service service, Operation operation) {
  return next_place() + header_bytes(*headers_of(service, operation));
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
  const std::uint32_t destination = waiting_[first].destination;
  if (!to_one_.is_connected_to(destination)) {
    consider_connecting(destination);
  }
  if (to_one_.is_connected_to(destination)) {
    first = send_by(to_one_, first, end);
  }
  while ((first = send_by(to_anywhere_, first, end)) != end) {
    wire::count(counters().refused_by_system);
    ++first;
  }
}

void Outbox::consider_connecting(std::uint32_t destination) {
  if (std::exchange(last_destination_, destination) != destination) trains_in_a_row_ = 0;
  if (++trains_in_a_row_ < trains_before_connecting || !may_connect_) return;
  trains_in_a_row_ = 0;
  may_connect_ = to_one_.connect(destination);
}

// The first packet that is not sent; `end`: all are.
std::size_t Outbox::send_by(SendSocket& socket, std::size_t first, std::size_t end) {
  if (end - first > 1 && kernel_cuts.load(std::memory_order_relaxed) && send_as_one(socket, first, end)) {
    return end;
  }
  while (first < end && send_whole(socket, waiting_[first])) ++first;
  return first;
}

bool Outbox::send_as_one(SendSocket& socket, std::size_t first, std::size_t end) {
  const Waiting& front = waiting_[first];
  const Waiting& last = waiting_[end - 1];
  if (socket.cut_bytes() == front.bytes || socket.set_cut(front.bytes)) {
    for (std::size_t i = first; i < end; ++i) seal_packet(socket, waiting_[i], i - first);
    const std::span<const std::byte> train =
        std::span(bytes_).subspan(front.at, last.at + last.bytes - front.at);
    if (socket.send(train, front.destination)) return true;
  }
  // An interface that can't sum up checksums can't cut either: don't ask again.
  if (errno == EIO || errno == EOPNOTSUPP || errno == ENOPROTOOPT)
    kernel_cuts.store(false, std::memory_order_relaxed);
  return false;
}

bool Outbox::send_whole(SendSocket& socket, const Waiting& packet) {
  seal_packet(socket, packet, 0);
  const bool would_be_cut = socket.cut_bytes() != 0 && packet.bytes > socket.cut_bytes();
  if (!would_be_cut && socket.send(bytes_of(packet), packet.destination)) return true;
  // An interface that can't cut may refuse what is short enough, too, while a size is set.
  return socket.cut_bytes() != 0 && socket.set_cut(0) && socket.send(bytes_of(packet), packet.destination);
}

// With so many before it in its train.
void Outbox::seal_packet(const SendSocket& socket, const Waiting& packet, std::size_t before) {
  seal({.source_address = Endpoint::instance().address(),
        .destination_address = packet.destination,
        .source_port = socket.port(),
        .destination_port = udp_port,
        .identification = static_cast<std::uint16_t>(socket.identification() + before)},
       bytes_of(packet));
}

}  // namespace rkv::soft::wire
