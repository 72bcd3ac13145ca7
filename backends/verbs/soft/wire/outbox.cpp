#include "backends/verbs/soft/wire/outbox.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "backends/verbs/soft/wire/counters.hpp"
#include "backends/verbs/soft/wire/endpoint.hpp"
#include "backends/verbs/soft/wire/icrc.hpp"

namespace rkv::soft::wire {

Outbox& Outbox::of_this_thread() {
  thread_local const std::unique_ptr<Outbox> own(new Outbox);
  return *own;
}

Outbox::Outbox() {
  for (std::size_t i = 0; i < packets; ++i) {
    destinations_[i].sin_family = AF_INET;
    destinations_[i].sin_port = htons(udp_port);
    places_[i].iov_base = slots_[i].data();
    messages_[i].msg_hdr.msg_name = &destinations_[i];
    messages_[i].msg_hdr.msg_namelen = sizeof destinations_[i];
    messages_[i].msg_hdr.msg_iov = &places_[i];
    messages_[i].msg_hdr.msg_iovlen = 1;
  }
}

std::byte* Outbox::payload_place(Service service, Operation operation) {
  return slots_[count_].data() + header_bytes(headers_of(service, operation).value_or(Headers{}));
}

void Outbox::add(const Packet& packet, std::uint32_t destination, PacketFaults* faults) {
  const std::span<std::byte> datagram(slots_[count_].data(), packet_bytes(packet));
  build(packet, datagram);
  seal({.source_address = Endpoint::instance().address(),
        .destination_address = destination,
        .source_port = udp_port,
        .destination_port = udp_port},
       datagram);
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
      add_sealed(again, destination);
      break;
    }
    case MessageFault::none:
      count_in(datagram.size(), destination);
  }
  if (overtakes) {
    add_sealed(faults->held, destination);
    faults->held.clear();
  }
}

void Outbox::add_sealed(std::span<const std::byte> datagram, std::uint32_t destination) {
  std::ranges::copy(datagram, slots_[count_].begin());
  count_in(datagram.size(), destination);
}

void Outbox::count_in(std::size_t bytes, std::uint32_t destination) {
  places_[count_].iov_len = bytes;
  destinations_[count_].sin_addr.s_addr = htonl(destination);
  if (++count_ == packets) {
    send();
  }
}

void Outbox::send() {
  const int socket = Endpoint::instance().socket();
  count(counters().packets_sent, count_);
  std::size_t done = 0;
  while (done < count_) {
    int sent = 0;
    if (count_ - done == 1) {
      sent =
          ::sendto(socket, slots_[done].data(), places_[done].iov_len, 0,
                   reinterpret_cast<const sockaddr*>(&destinations_[done]), sizeof destinations_[done]) >= 0
              ? 1
              : -1;
    } else {
      sent = ::sendmmsg(socket, &messages_[done], static_cast<unsigned>(count_ - done), 0);
    }
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) count(counters().refused_by_system, 1);
    done += sent < 0 ? 1 : static_cast<std::size_t>(sent);  // the one that was refused is lost
  }
  count_ = 0;
}

}  // namespace rkv::soft::wire
