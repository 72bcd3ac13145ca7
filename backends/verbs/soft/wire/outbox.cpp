#include "backends/verbs/soft/wire/outbox.hpp"

#include <arpa/inet.h>
#include <netinet/udp.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
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

Outbox::Outbox() {
  for (std::size_t i = 0; i < packets; ++i) {
    destinations_[i].sin_family = AF_INET;
    destinations_[i].sin_port = htons(udp_port);
    places_[i].iov_base = slots_[i].data();
    auto* const control = reinterpret_cast<cmsghdr*>(controls_[i].bytes.data());
    control->cmsg_level = IPPROTO_UDP;
    control->cmsg_type = UDP_SEGMENT;
    control->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
  }
}

std::byte* Outbox::payload_place(Service service, Operation operation) {
  return slots_[count_].data() + header_bytes(headers_of(service, operation).value_or(Headers{}));
}

void Outbox::add(const Packet& packet, std::uint32_t destination, PacketFaults* faults) {
  const std::span<std::byte> datagram(slots_[count_].data(), packet_bytes(packet));
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

// The first packet that can't go as one with those from `first` on: all are of the size of the first, but for
// the last, which may be shorter.
std::size_t Outbox::train_end(std::size_t first) const {
  std::size_t end = first + 1;
  if (!kernel_cuts.load(std::memory_order_relaxed)) return end;
  std::size_t bytes = places_[first].iov_len;
  while (end < count_ && destinations_[end].sin_addr.s_addr == destinations_[first].sin_addr.s_addr &&
         places_[end - 1].iov_len == places_[first].iov_len &&
         places_[end].iov_len <= places_[first].iov_len &&
         bytes + places_[end].iov_len <= sent_train_bytes_max) {
    bytes += places_[end++].iov_len;
  }
  return end;
}

void Outbox::seal_packet(std::size_t packet, std::uint16_t identification) {
  seal({.source_address = Endpoint::instance().address(),
        .destination_address = ntohl(destinations_[packet].sin_addr.s_addr),
        .source_port = udp_port,
        .destination_port = udp_port,
        .identification = identification},
       {slots_[packet].data(), places_[packet].iov_len});
}

void Outbox::send() {
  if (count_ == 0) return;
  std::size_t count = 0;
  for (std::size_t first = 0; first < count_; ++count) {
    const Train train{.first = first, .end = train_end(first)};
    trains_[count] = train;
    msghdr& message = messages_[count].msg_hdr;
    message = {};
    message.msg_name = &destinations_[first];
    message.msg_namelen = sizeof destinations_[first];
    message.msg_iov = &places_[first];
    message.msg_iovlen = train.end - train.first;
    if (message.msg_iovlen > 1) {
      const auto bytes = static_cast<std::uint16_t>(places_[first].iov_len);
      std::memcpy(CMSG_DATA(reinterpret_cast<cmsghdr*>(controls_[count].bytes.data())), &bytes, sizeof bytes);
      message.msg_control = controls_[count].bytes.data();
      message.msg_controllen = controls_[count].bytes.size();
    }
    for (; first < train.end; ++first) seal_packet(first, static_cast<std::uint16_t>(first - train.first));
  }
  wire::count(counters().packets_sent, count_);
  send_trains(count);
  count_ = 0;
}

void Outbox::send_trains(std::size_t count) {
  const int socket = Endpoint::instance().socket();
  for (std::size_t done = 0; done < count;) {
    const int sent = count - done == 1
                         ? send_train(socket, done)
                         : ::sendmmsg(socket, &messages_[done], static_cast<unsigned>(count - done), 0);
    if (sent > 0) {
      done += static_cast<std::size_t>(sent);
    } else if (errno != EINTR) {
      const Train& refused = trains_[done++];
      if (refused.end - refused.first > 1) {
        // An interface that can't sum up checksums can't cut either: don't ask again.
        if (errno == EIO || errno == EOPNOTSUPP || errno == ENOPROTOOPT)
          kernel_cuts.store(false, std::memory_order_relaxed);
        send_one_by_one(refused);
      } else {
        wire::count(counters().refused_by_system);
      }
    }
  }
}

// 1, or -1 with errno.
int Outbox::send_train(int socket, std::size_t train) {
  const std::size_t first = trains_[train].first;
  const auto sent = trains_[train].end - first == 1
                        ? ::sendto(socket, slots_[first].data(), places_[first].iov_len, 0,
                                   reinterpret_cast<const sockaddr*>(&destinations_[first]),
                                   sizeof destinations_[first])  // cheaper than the other
                        : ::sendmsg(socket, &messages_[train].msg_hdr, 0);
  return sent >= 0 ? 1 : -1;
}

void Outbox::send_one_by_one(const Train& train) {
  for (std::size_t i = train.first; i < train.end; ++i) {
    seal_packet(i, 0);
    while (::sendto(Endpoint::instance().socket(), slots_[i].data(), places_[i].iov_len, 0,
                    reinterpret_cast<const sockaddr*>(&destinations_[i]), sizeof destinations_[i]) < 0) {
      if (errno != EINTR) {
        wire::count(counters().refused_by_system);
        break;
      }
    }
  }
}

}  // namespace rkv::soft::wire
