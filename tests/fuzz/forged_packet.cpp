#include "tests/fuzz/forged_packet.hpp"

#include <algorithm>

#include "backends/verbs/soft/transport/admission.hpp"
#include "backends/verbs/soft/verbs/limits.hpp"
#include "backends/verbs/soft/wire/connection.hpp"
#include "backends/verbs/soft/wire/packet.hpp"
#include "backends/verbs/soft/wire/psn.hpp"

namespace rkv::soft {
namespace {

using wire::Operation;
using wire::Packet;
using wire::Service;

// What may be wrong with a packet, one bit each.
enum Twist : std::uint8_t {
  sequence = 1,
  key = 2,
  address = 4,
  length = 8,
  header = 16,
  size = 32,
  solicited = 64,
  unacknowledged = 128,
};

constexpr std::size_t payload_bytes_max = 4'200;
constexpr std::uint8_t receiver_not_ready = 0x20;
constexpr std::uint8_t syndrome_kinds = 0xe0;
// Its timers' codes that last longer than any input: whether one runs out is the input's matter, not the
// clock's.
constexpr std::uint8_t long_timers = 0x1c;

bool is_atomic(Operation operation) {
  return operation == Operation::compare_swap || operation == Operation::fetch_add;
}

bool is_response(Operation operation) {
  return operation >= Operation::read_response_first && operation <= Operation::atomic_acknowledge;
}

// What the queue pair's requester waits for.
struct Awaited {
  std::uint32_t psn = 0;  // of the response
  std::size_t bytes = 0;
  std::uint32_t outstanding = 0;  // sequence numbers that can be acknowledged
};

Awaited awaited_by(QueuePair& qp) {
  wire::Requester& requester = qp.remote->requester;
  Awaited awaited{.psn = requester.acknowledged,
                  .outstanding = static_cast<std::uint32_t>(
                      wire::psn_distance(requester.next_psn, requester.acknowledged))};
  for (std::uint32_t place = qp.backlog.head; place != requester.started && place != qp.backlog.tail;
       ++place) {
    const SendWqe& wqe = qp.backlog.at(place);
    if (!is_response_scattered(wqe.opcode)) continue;
    const wire::InFlight& flight = requester.at(place);
    const std::uint64_t offset = std::uint64_t{flight.responses} * qp.remote->mtu_bytes;
    awaited.psn = wire::psn_add(flight.first_psn, flight.responses);
    awaited.bytes = std::min<std::uint64_t>(wqe.length_bytes - offset, qp.remote->mtu_bytes);
    break;
  }
  return awaited;
}

class Forger {
 public:
  Forger(Input& input, QueuePair& qp, Memory& memory) : input_(input), qp_(qp), memory_(memory) {}

  Forged forge(wire::Ipv4Path path) {
    choose_operation();
    twists_ = input_.byte();
    packet_.destination = qp_.number();
    packet_.solicited = has(solicited);
    packet_.wants_acknowledgement = !has(unacknowledged);
    choose_sequence_number();
    choose_payload();
    choose_target();
    choose_rest();
    if (has(header)) twist_header(path);
    Forged forged{.path = path, .datagram = std::vector<std::byte>(wire::packet_bytes(packet_))};
    wire::build(packet_, forged.datagram);
    wire::seal(forged.path, forged.datagram);
    return forged;
  }

 private:
  bool has(Twist twist) const { return (twists_ & twist) != 0; }
  std::uint32_t mtu_bytes() const { return qp_.remote != nullptr ? qp_.remote->mtu_bytes : 256; }

  void choose_operation() {
    if (qp_.type == IBV_QPT_UD) {
      packet_.service = Service::ud;
      packet_.operation = input_.below(2) == 0 ? Operation::send_only : Operation::send_only_immediate;
      return;
    }
    const bool reliable = qp_.type == IBV_QPT_RC;
    constexpr std::size_t reliable_operations = 21, unreliable_operations = 12;
    packet_.service = reliable ? Service::rc : Service::uc;
    packet_.operation =
        static_cast<Operation>(input_.below(reliable ? reliable_operations : unreliable_operations));
  }

  void choose_sequence_number() {
    if (qp_.remote != nullptr) {
      packet_.sequence_number = qp_.remote->responder.expected_psn;
      if (is_response(packet_.operation)) {
        const Awaited awaited = awaited_by(qp_);
        packet_.sequence_number =
            packet_.operation == Operation::acknowledge
                ? wire::psn_add(qp_.remote->requester.acknowledged,
                                static_cast<std::uint32_t>(input_.below(std::min(awaited.outstanding, 256U))))
                : awaited.psn;
      }
    }
    if (has(sequence)) {
      const std::uint8_t choice = input_.byte();
      packet_.sequence_number =
          choice == 0 ? input_.number<std::uint32_t>()
                      : wire::psn_add(packet_.sequence_number, std::uint32_t{choice} + wire::psn_mask - 127);
    }
  }

  std::size_t plausible_payload_bytes() {
    switch (packet_.operation) {
      case Operation::send_first:
      case Operation::send_middle:
      case Operation::write_first:
      case Operation::write_middle:
        return mtu_bytes();
      case Operation::write_last:
      case Operation::write_last_immediate:
        if (const std::uint32_t left = qp_.remote != nullptr ? qp_.remote->responder.write_left_bytes : 0;
            left > 0 && left <= mtu_bytes()) {
          return left;
        }
        [[fallthrough]];
      case Operation::send_last:
      case Operation::send_last_immediate:
        return 1 + input_.below(mtu_bytes());
      case Operation::read_response_first:
      case Operation::read_response_middle:
      case Operation::read_response_last:
      case Operation::read_response_only:
        return qp_.remote != nullptr ? awaited_by(qp_).bytes : 0;
      default:
        return input_.below(256);
    }
  }

  void choose_payload() {
    if (!wire::headers_of(packet_.service, packet_.operation)->payload) return;
    payload_.resize(has(size) ? input_.below(payload_bytes_max) : plausible_payload_bytes());
    std::ranges::fill(payload_, static_cast<std::byte>(without_secret(input_.byte())));
    packet_.payload = payload_;
  }

  Area& plausible_area() {
    constexpr Memory::Name written[] = {Memory::open, Memory::passing, Memory::writable};
    constexpr Memory::Name read[] = {Memory::open, Memory::passing, Memory::readable};
    constexpr Memory::Name changed[] = {Memory::open, Memory::passing};
    if (is_atomic(packet_.operation)) return memory_.at(input_.one_of(changed));
    return memory_.at(input_.one_of(packet_.operation == Operation::read_request ? read : written));
  }

  void choose_length() {
    const auto bytes = static_cast<std::uint32_t>(payload_.size());
    if (has(length)) {
      packet_.length = input_.number<std::uint32_t>();
    } else if (packet_.operation == Operation::read_request) {
      const std::uint32_t lengths[] = {8,    0,    1,    mtu_bytes() - 1, mtu_bytes(), mtu_bytes() + 1,
                                       1025, 4096, 5000, area_bytes};
      packet_.length = input_.one_of(lengths);
    } else {
      packet_.length = packet_.operation == Operation::write_first
                           ? bytes + 1 + static_cast<std::uint32_t>(input_.below(1'024))
                           : bytes;
    }
  }

  // The memory that a request is for.
  void choose_target() {
    const wire::Headers headers = *wire::headers_of(packet_.service, packet_.operation);
    if (!headers.rdma && !headers.atomic) return;
    if (headers.rdma) choose_length();
    Area& area = has(address) ? memory_.at(input_.below(Memory::names)) : plausible_area();
    const std::size_t bytes = headers.atomic ? sizeof(std::uint64_t) : packet_.length;
    std::size_t offset = bytes <= area_bytes ? input_.number<std::uint16_t>() % (area_bytes - bytes + 1) : 0;
    if (headers.atomic) offset -= offset % sizeof(std::uint64_t);
    packet_.remote_address = area.address(offset);
    packet_.remote_key = area.key();
    if (has(address)) {  // a little beside it, too
      packet_.remote_address += static_cast<std::uint64_t>(std::int64_t{input_.number<std::int16_t>()});
    }
    if (has(key)) {
      const std::size_t choice = input_.below(Memory::names + 1);
      packet_.remote_key = choice < Memory::names ? memory_.at(choice).key() : input_.number<std::uint32_t>();
    }
  }

  void choose_rest() {
    const wire::Headers headers = *wire::headers_of(packet_.service, packet_.operation);
    if (headers.atomic) {
      packet_.compare = without_secret(input_.byte());
      packet_.swap_or_add = without_secret(input_.number<std::uint16_t>());
    }
    if (headers.acknowledge) {
      constexpr std::uint8_t syndromes[] = {0x1f, 0x20, 0x60, 0x61, 0x62, 0x63, 0x00};
      const std::uint8_t choice = input_.byte();  // most say that all is well
      packet_.syndrome = choice < 0x80 ? syndromes[0] : choice < 0xc0 ? syndromes[choice % 7] : input_.byte();
      if ((packet_.syndrome & syndrome_kinds) == receiver_not_ready) packet_.syndrome |= long_timers;
    }
    if (headers.atomic_acknowledge) packet_.original = without_secret(input_.number<std::uint64_t>());
    if (headers.immediate) packet_.immediate = input_.byte();
    if (headers.datagram) {
      packet_.queue_key = qp_.qkey.load() ^ (has(key) ? 1 : 0);
      packet_.source = input_.byte();
    }
  }

  void twist_header(wire::Ipv4Path& path) {
    const std::uint8_t which = input_.byte();
    if ((which & 1) != 0) packet_.partition = input_.number<std::uint16_t>();
    if ((which & 2) != 0) packet_.destination = input_.number<std::uint32_t>();
    if ((which & 4) != 0) path.source_address ^= input_.byte();
    if ((which & 8) != 0) path.source_port = input_.number<std::uint16_t>();
    if ((which & 16) != 0 && wire::headers_of(Service::uc, packet_.operation)) packet_.service = Service::uc;
  }

  Input& input_;
  QueuePair& qp_;
  Memory& memory_;
  std::uint8_t twists_ = 0;
  Packet packet_;
  std::vector<std::byte> payload_;
};

}  // namespace

Forged forge_packet(Input& input, QueuePair& qp, Memory& memory, const wire::Ipv4Path& path) {
  return Forger(input, qp, memory).forge(path);
}

Forged forge_bytes(Input& input, const wire::Ipv4Path& path) {
  const bool sealed = input.below(2) == 0;
  const auto bytes = std::as_bytes(input.bytes(input.byte()));
  Forged forged{.path = path, .datagram = {bytes.begin(), bytes.end()}};
  if (sealed && bytes.size() >= wire::base_header_bytes + wire::icrc_bytes) {
    wire::seal(path, forged.datagram);
  }
  return forged;
}

}  // namespace rkv::soft
