#include "backends/sim/nic/nic.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "backends/sim/cpu/core.hpp"
#include "backends/sim/cpu/host.hpp"
#include "backends/sim/cpu/thread.hpp"
#include "backends/sim/engine/timeline.hpp"

namespace rkv::sim {

Nic::Nic(Fabric& fabric, const NicProfile& profile, std::uint32_t host)
    : Card(fabric, profile, host),
      units_(profile.processing_units),
      pcie_(profile_),
      doorbells_(profile.private_doorbells, profile.shared_doorbells, profile.doorbell),
      contexts_(profile.qp_cache, world_.rng()),
      translations_(profile.translation_cache, world_.rng()),
      requests_(profile.request_cache, world_.rng()) {
  if (Timeline* timeline = world_.timeline()) {
    for (std::uint32_t unit = 0; unit < units_.count(); ++unit) {
      timeline->name_row(host, Timeline::first_nic_row + unit, "RNIC unit " + std::to_string(unit));
    }
  }
}

const NicTransportProfile& Nic::costs_of(const NicProfile& profile, Transport transport) {
  switch (transport) {
    case Transport::rc:
      return profile.rc;
    case Transport::ud:
      return profile.ud;
    default:
      return profile.uc;
  }
}

Units::Service Nic::work(std::uint32_t queue_pair, Ps time, const char* what) {
  const auto own = static_cast<std::uint32_t>(queue_pair % units_.count());
  const Units::Service service = profile_.units_by_queue_pair ? units_.serve_by(own, world_.now(), time)
                                                              : units_.serve(world_.now(), time);
  spend(Spent::nic_queue, service.start - world_.now());
  spend(Spent::nic, time);
  if (Timeline* timeline = world_.timeline()) {
    timeline->span(host_, Timeline::first_nic_row + service.unit, what, service.start, service.end);
  }
  return service;
}

// When what the card knows of a queue pair is at hand, and of its peer's READs where it is to serve one.
Ps Nic::find_contexts(std::uint32_t queue_pair, bool serves_read) {
  const Ps now = world_.now();
  Ps there = find_context(queue_pair, 2ULL * queue_pair);
  if (serves_read && profile_.read_contexts) {
    there = std::max(there, find_context(queue_pair, 2ULL * queue_pair + 1));
  }
  spend(Spent::context_miss, there - now);
  return there;
}

Ps Nic::find_context(std::uint32_t queue_pair, std::uint64_t id) {
  const Ps now = world_.now();
  return contexts_.access(id, now, [&](Ps fetched) {
    const Ps there =
        profile_.stalls_for_contexts ? work(queue_pair, profile_.qp_cache.miss, "miss").end : fetched;
    return there + pcie_.fetch(now, profile_.context_bytes);
  });
}

// Of a unit, to move so many bytes between the card and memory.
Ps Nic::passes(std::uint64_t address, std::uint32_t bytes) const {
  return profile_.pass_each_packet ? std::max<Ps>(pcie_.packets(address, bytes), 1) : 1;
}

void Nic::account(const Pcie::Passage& passage, Ps since) {
  spend(Spent::nic_queue, passage.waited);
  spend(Spent::nic, passage.end - since - passage.waited);
}

void Nic::on_stage(Stage stage, Message& message) {
  switch (stage) {
    case Stage::arrival:
      return arrived(message);
    case Stage::receive:
      return receive(message);
    case Stage::response:
      return respond(message);
    case Stage::acknowledged:
      return acknowledgement_came(message);
    case Stage::room:
      return response_has_room();
    case Stage::taken_in:
      return take_acknowledgement(message);
    default:
      return send_stage(stage, message);
  }
}

// --- sending

void Nic::send(QueuePairState& pair, Message& message) {
  const Ps now = world_.now();
  if (message.follows) {
    spend(Spent::nic, pcie_.latency());
    message.behind = pcie_.latency();
    pair.on_card.append(fabric_.messages, message);
    return plan(std::max(now, pair.chain_fetched), Stage::fetched, message);
  }
  Doorbells::Poster poster;
  HandOver hand_over{.hand_over = profile_.doorbell_lock_hand_over};
  if (const Thread* const thread = world_.playing()) {
    const MemoryProfile& memory = thread->host().costs().memory;
    poster = {.thread = thread, .socket = thread->core->socket()};
    hand_over.a_waiter = memory.spin_waiter;
    hand_over.remote_factor = memory.remote_socket_factor;
  }
  const Ps ringing = doorbells_.ring(pair.number - first_number, poster, now, hand_over);
  hold_poster(ringing, Spent::doorbell);
  spend(Spent::nic, pcie_.latency());
  message.behind = ringing + pcie_.latency();
  pair.on_card.append(fabric_.messages, message);
  const bool alone = message.chained_bytes == 0;
  if (alone && profile_.doorbell_carries_request && message.inlined) return look_up(pair, message);
  const Pcie::Passage read = pcie_.read(now, 0, request_bytes + message.chained_bytes);
  account(read, now);
  // Those behind it are rung when the doorbell has been written.
  pair.chain_fetched = read.end + ringing;
  plan(read.end, Stage::fetched, message);
}

void Nic::send_stage(Stage stage, Message& message) {
  QueuePairState* pair = find(message.from.queue_pair);
  if (pair == nullptr) return release(message);
  const Ps now = world_.now();
  switch (stage) {
    case Stage::fetched:
      return look_up(*pair, message);
    case Stage::contexts_there:
      return process(*pair, message);
    case Stage::payload: {
      const Ps there = translations_.access(page(message.address), now);
      if (there <= now) return read_payload(*pair, message);
      spend(Spent::translation_miss, there - now);
      return plan(there, Stage::translated, message);
    }
    case Stage::translated:
      return read_payload(*pair, message);
    default:  // link
      return enter_link(*pair, message);
  }
}

void Nic::look_up(QueuePairState& pair, Message& message) {
  const Ps now = world_.now();
  const Ps there = find_contexts(pair.number, false);
  if (message.reads()) message.request = requests_.enter();
  if (there <= now) return process(pair, message);
  plan(there, Stage::contexts_there, message);
}

void Nic::process(QueuePairState& pair, Message& message) {
  const bool reads_payload = !message.inlined && message.bytes > 0 && !message.reads();
  const Ps passed = reads_payload ? passes(message.address, message.bytes) : 1;
  const Ps end = work(pair.number, costs(message.transport).send * passed, "send").end;
  if (!reads_payload) {
    due(pair, message, end + message.behind);
  } else {
    plan(end, Stage::payload, message);
  }
}

void Nic::read_payload(QueuePairState& pair, Message& message) {
  const Pcie::Passage read = pcie_.read(world_.now(), message.address, message.bytes);
  account(read, world_.now());
  due(pair, message, read.end + message.behind);
}

// The message may enter the link at that time, and so may those behind it that are ready.
void Nic::due(QueuePairState& pair, Message& message, Ps at) {
  message.ready_at = at;
  let_go(pair, 0);
}

// To the link, in order, all that is ready and need not wait for the answers of READs in front of it.
void Nic::let_go(QueuePairState& pair, Ps not_before) {
  while (!pair.on_card.empty()) {
    Message& first = fabric_.messages[pair.on_card.first()];
    if (first.ready_at == Message::not_ready) return;
    if (first.reads()) {
      if (profile_.reads_outstanding != 0 && pair.reads_outstanding >= profile_.reads_outstanding) return;
      ++pair.reads_outstanding;
    }
    pair.on_card.pop(fabric_.messages);
    pair.link_after = std::max({pair.link_after, first.ready_at, not_before});
    spend(Spent::nic_queue, pair.link_after - first.ready_at);
    plan(pair.link_after, Stage::link, first);
  }
}

// Beside its headers. An atomic operation's operands are more than a READ's header has.
std::uint32_t Nic::request_payload_bytes(const Message& message) {
  constexpr std::uint32_t operands = 16;
  if (message.atomic()) return operands;
  return message.reads() ? 0 : message.bytes;
}

// Immediate data is a header of its own (InfiniBand specification, vol. 1, chapter 9, "immediate data
// extended transport header"), of a message's last packet; here of each.
std::uint32_t Nic::header_bytes(const Message& message) const {
  constexpr std::uint32_t immediate = 4;
  return costs(message.transport).header_bytes +
         (message.operation == SendOperation::write_with_immediate ? immediate : 0);
}

void Nic::enter_link(QueuePairState& pair, Message& message) {
  if (pair.failed) return release(message);
  if (!pair.held_back.empty()) return pair.held_back.insert(fabric_.messages, message);
  Network& network = fabric_.network;
  const std::uint32_t header = header_bytes(message);
  Card& receiver = card_of(message.to);
  const auto send_one = [&](Message& one) {
    return network.send(host_, one.to.host, request_payload_bytes(one), header, receiver,
                        tag(Stage::arrival, one.number));
  };
  const Network::Fate fate = network.draw_fate(message.bytes);
  message.lost = fate.lost;
  faults_.lost += fate.lost ? 1 : 0;
  if (pair.reliable()) {
    send_one(message);
    return;
  }
  if (fate.delay > 0 && !fate.lost) {
    message.delay = fate.delay;
    ++faults_.reordered;
  }
  const Ps left = send_one(message);
  if (fate.duplicated && !fate.lost) {
    ++faults_.duplicated;
    send_one(duplicate(message));
  }
  if (!message.signalled) return;
  ++message.uses;
  spend(Spent::nic, pcie_.latency());
  complete_send(pair, message, left + pcie_.latency());
}

// An acknowledgement, or a READ's response, which stays outside while the way to memory is full.
void Nic::acknowledgement_came(Message& message) {
  if (!message.reads()) return take_acknowledgement(message);
  const Ps most = profile_.pcie_write_backlog;
  if (most == 0 || (responses_.empty() && pcie_.write_backlog(world_.now()) <= most)) {
    return take_response(message);
  }
  if (responses_.empty()) plan_response(message);
  responses_.append(fabric_.messages, message);
}

void Nic::plan_response(Message& message) {
  const Ps now = world_.now();
  const Ps room_at = now + pcie_.write_backlog(now) - profile_.pcie_write_backlog;
  spend(Spent::nic_queue, std::max<Ps>(room_at - now, 0));
  plan(std::max(room_at, now), Stage::room, message);
}

// The first of those outside.
void Nic::response_has_room() {
  take_response(responses_.pop(fabric_.messages));
  if (!responses_.empty()) plan_response(fabric_.messages[responses_.first()]);
}

// It needs the queue pair's context again, and the request.
void Nic::take_response(Message& message) {
  const Ps now = world_.now();
  const Ps context_there = find_contexts(message.from.queue_pair, false);
  const Ps there = std::max(context_there, requests_.find(message.request, now));
  if (there <= now) return take_acknowledgement(message);
  spend(Spent::request_miss, there - context_there);
  plan(there, Stage::taken_in, message);
}

void Nic::take_acknowledgement(Message& message) {
  const Ps passed = message.reads() ? passes(message.address, message.bytes) : 1;
  const Ps end = work(message.from.queue_pair, profile_.rc.take_ack * passed, "ack").end + message.behind;
  if (!message.reads()) {
    if (message.signalled) spend(Spent::nic, pcie_.latency());
    return acknowledged(message, end + pcie_.latency());
  }
  if (QueuePairState* const pair = find(message.from.queue_pair)) {
    --pair->reads_outstanding;
    let_go(*pair, end);
  }
  const bool failed = message.status != CompletionStatus::ok;
  const Pcie::Passage write =
      pcie_.write(end, message.address, failed ? 0 : message.bytes, message.signalled || failed);
  account(write, end);
  acknowledged(message, write.end);
}

// --- receiving

void Nic::arrived(Message& message) {
  const Ps now = world_.now();
  if (message.lost) return not_accepted(message, Answer::lost);
  if (message.delay > 0) return plan(now + std::exchange(message.delay, 0), Stage::arrival, message);
  if (const Answer answer = accept(message); answer != Answer::accepted) return not_accepted(message, answer);
  QueuePairState& pair = *find(message.to.queue_pair);
  const Ps context_there = find_contexts(pair.number, message.reads());
  const Ps there = profile_.receive_record ? find_receive(pair, message, context_there) : context_there;
  spend(Spent::nic, there - context_there);
  ++pair.awaiting_context;
  if (there <= now && pair.awaiting_context == 1) return receive(message);
  plan(there, Stage::receive, message);
}

// When the card has the message's descriptor, for which it may have to look: a DMA read of the record, which
// says that there is one, and another of the descriptor, whose few bytes take no time. WRITEs without
// immediate and READs need none; nothing overtakes what came before.
Ps Nic::find_receive(QueuePairState& pair, const Message& message, Ps now) const {
  if (message.took_receive()) {
    ReceiveSlots& receives = pair.receives();
    if (!message.receive_seen) receives.fetched_at = now + 2 * (2 * pcie_.latency());
    pair.receives_there = std::max(pair.receives_there, receives.fetched_at);
  }
  return std::max(now, pair.receives_there);
}

void Nic::receive(Message& message) {
  QueuePairState* pair = find(message.to.queue_pair);
  if (pair == nullptr) return not_accepted(message, Answer::none);
  --pair->awaiting_context;
  const Ps now = world_.now();
  const NicTransportProfile& own = costs(message.transport);
  const std::uint64_t address = message.one_sided() ? message.remote.address : message.receive.address;
  const Ps passed = passes(address, message.bytes);
  const Ps received = own.receive * (message.reads() ? 1 : passed);
  const Ps answered = own.ack * (message.reads() ? passed : 1);
  const Units::Service service = work(pair->number, received + (pair->reliable() ? answered : 0), "receive");
  if (!message.took_receive()) return serve_one_sided(*pair, message, service, received);
  Ps ready = service.start + received;
  const bool failed = message.status != CompletionStatus::ok;
  const std::uint32_t bytes = failed ? 0 : message.bytes;
  if (bytes > 0) {
    const Ps there = translations_.access(page(address), now);
    spend(Spent::translation_miss, std::max<Ps>(there - ready, 0));
    ready = std::max(ready, there);
  }
  const Ps fetch = profile_.receive_fetch + profile_.receive_fetch_an_sge * pair->setup.max_sge;
  spend(Spent::nic, fetch);
  ready += fetch;
  const Pcie::Passage write = pcie_.write(ready, address, bytes, true);
  account(write, ready);
  plan(write.end, Stage::received, message);
  if (failed) pair->completed_after = std::max(pair->completed_after, write.end);
  if (pair->reliable()) acknowledge(message, service.end - now);
}

// Another use of the message: its answer, behind by what the card still does.
void Nic::acknowledge(Message& message, Ps behind) {
  ++message.uses;
  message.behind = behind;
  fabric_.network.send(host_, message.from.host, 0, profile_.rc.ack_bytes, card_of(message.from),
                       tag(Stage::acknowledged, message.number));
}

// WRITE: the payload by DMA, and no completion here. READ: its bytes by DMA, then the link back.
void Nic::serve_one_sided(QueuePairState& pair, Message& message, const Units::Service& service,
                          Ps received) {
  const Ps now = world_.now();
  if (message.status != CompletionStatus::ok) {
    plan(service.end, Stage::received, message);
    return acknowledge(message, service.end - now);
  }
  Ps ready = message.reads() ? service.end : service.start + received;
  if (message.bytes > 0) {
    const Ps there = translations_.access(page(message.remote.address), now);
    spend(Spent::translation_miss, std::max<Ps>(there - ready, 0));
    ready = std::max(ready, there);
  }
  if (message.atomic()) return serve_atomic(message, ready);
  if (message.reads()) return read_for_peer(message, ready);
  const Pcie::Passage write = pcie_.write(ready, message.remote.address, message.bytes, false);
  account(write, ready);
  plan(write.end, Stage::received, message);
  if (pair.reliable()) acknowledge(message, service.end - now);
}

void Nic::read_for_peer(Message& message, Ps ready) {
  const Pcie::Passage read = pcie_.read(ready, message.remote.address, message.bytes);
  account(read, ready);
  plan(read.end, Stage::response, message);
}

// One at a time: those that wait ask for the bus when they may.
void Nic::serve_atomic(Message& message, Ps ready) {
  if (!std::exchange(atomic_under_way_, true)) return read_for_peer(message, ready);
  message.ready_at = ready;
  atomics_.append(fabric_.messages, message);
}

// An atomic operation's DMA read has ended: the write behind it, and the next one's read.
void Nic::atomic_was_read(const Message& message) {
  const Ps now = world_.now();
  account(pcie_.write(now, message.remote.address, message.bytes, false), now);
  atomic_under_way_ = !atomics_.empty();
  if (!atomic_under_way_) return;
  Message& next = atomics_.pop(fabric_.messages);
  spend(Spent::nic_queue, std::max<Ps>(now - next.ready_at, 0));
  read_for_peer(next, std::max(now, next.ready_at));
}

void Nic::respond(Message& message) {
  if (message.atomic()) atomic_was_read(message);
  if (find(message.to.queue_pair) == nullptr) return not_accepted(message, Answer::none);
  capture_read(message);
  message.behind = 0;
  fabric_.network.send(host_, message.from.host, message.bytes, costs(message.transport).header_bytes,
                       card_of(message.from), tag(Stage::acknowledged, message.number));
}

}  // namespace rkv::sim
