#include "tests/port/link.hpp"

namespace rkv::test {

Side::Side(const Port& port, Transport its_transport, const SideOptions& options)
    : transport(its_transport),
      stop(port.runtime->make_stop_flag()),
      region(options.one_sided ? port.device->make_exposed_region(slots * slot_bytes, PeerAccess::all)
                               : port.device->make_region(slots * slot_bytes)) {
  if (options.shared_sends == nullptr) {
    send_queue = port.device->make_completion_queue(4 * options.depth, options.blockable);
  }
  if (options.shared_receives == nullptr) {
    receive_queue = port.device->make_completion_queue(4 * options.depth, options.blockable);
  }
  QueuePairSpec spec;
  spec.transport = transport;
  spec.send_completions = send_queue ? send_queue.get() : options.shared_sends;
  spec.receive_completions = receive_queue ? receive_queue.get() : options.shared_receives;
  spec.send_depth = options.depth;
  spec.receive_depth = options.depth;
  spec.inline_bytes = options.inline_bytes;
  spec.one_sided = options.one_sided;
  spec.shared_receives = options.shared_receive_queue;
  pair = port.device->make_queue_pair(spec);
  if (send_queue) {
    const std::array<CompletionQueue*, 1> send_source{send_queue.get()};
    sends = port.wait_sets->make_wait_set({send_source, {}}, *stop);
  }
  if (receive_queue) {
    const std::array<CompletionQueue*, 1> receive_source{receive_queue.get()};
    receives = port.wait_sets->make_wait_set({receive_source, {}}, *stop);
  }
}

std::span<std::byte> Side::payload(std::uint64_t slot) const {
  return region->bytes().subspan(slot * slot_bytes, slot_bytes).subspan(receive_headroom_bytes(transport));
}

int Side::post_receive(std::uint64_t slot, std::uint32_t payload_bytes) {
  return pair->post_receive({slot, region.get(), static_cast<std::uint32_t>(slot) * slot_bytes,
                             payload_bytes + receive_headroom_bytes(transport)});
}

int Side::post_send(std::uint64_t slot, std::uint32_t bytes, bool signalled, bool inlined) {
  SendRequest request;
  request.id = slot;
  request.region = region.get();
  request.offset = static_cast<std::uint32_t>(slot) * slot_bytes + receive_headroom_bytes(transport);
  request.length = bytes;
  request.signalled = signalled;
  request.inlined = inlined;
  request.destination = peer.get();
  return pair->post_send(request);
}

void connect(const PortPair& ports, Side& server, Side& client) {
  server.pair->connect(client.pair->endpoint());
  client.pair->connect(server.pair->endpoint());
  if (server.transport == Transport::ud) {
    server.peer = ports.server.device->make_address_handle(client.pair->endpoint());
    client.peer = ports.client.device->make_address_handle(server.pair->endpoint());
  }
}

WaitResult wait(How how, WaitSet& set, std::span<Completion> out, Instant deadline) {
  switch (how) {
    case How::spin:
      return set.spin(out, {}, deadline);
    case How::block:
      return set.block(out, deadline);
    default:
      return set.await_event(out, deadline);
  }
}

Taken take(How how, WaitSet& set, Instant deadline) {
  Taken taken;
  taken.result = wait(how, set, {&taken.completion, 1}, deadline);
  return taken;
}

}  // namespace rkv::test
