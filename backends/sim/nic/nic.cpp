#include "backends/sim/nic/nic.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "backends/sim/engine/timeline.hpp"

namespace rkv::sim {

Nic::Nic(Fabric& fabric, const NicProfile& profile, std::uint32_t host)
    : Card(fabric, profile, host),
      units_(profile.processing_units),
      pcie_(profile.pcie_latency, profile.pcie_bandwidth_bytes_per_ns),
      doorbells_(profile.threads_a_doorbell, profile.doorbell, profile.doorbell_lock_hand_over),
      contexts_(profile.qp_cache, world_.rng()),
      translations_(profile.translation_cache, world_.rng()),
      requests_(profile.request_cache) {
  if (Timeline* timeline = world_.timeline()) {
    for (std::uint32_t unit = 0; unit < units_.count(); ++unit) {
      timeline->name_row(host, Timeline::first_nic_row + unit, "RNIC unit " + std::to_string(unit));
    }
  }
}

const NicTransportProfile& Nic::costs(Transport transport) const {
  switch (transport) {
    case Transport::rc:
      return profile_.rc;
    case Transport::ud:
      return profile_.ud;
    default:
      return profile_.uc;
  }
}

Units::Service Nic::work(Ps time, const char* what) {
  const Units::Service service = units_.serve(world_.now(), time);
  spend(Spent::nic_queue, service.start - world_.now());
  spend(Spent::nic, time);
  if (Timeline* timeline = world_.timeline()) {
    timeline->span(host_, Timeline::first_nic_row + service.unit, what, service.start, service.end);
  }
  return service;
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
    case Stage::acknowledged:
      return take_acknowledgement(message);
    default:
      return send_stage(stage, message);
  }
}

// --- sending

void Nic::send(QueuePairState& pair, Message& message) {
  const Ps now = world_.now();
  const Ps ringing = doorbells_.ring(world_.playing(), now);
  hold_poster(ringing, Spent::doorbell);
  spend(Spent::nic, pcie_.latency());
  message.behind = ringing + pcie_.latency();
  pair.on_card.append(fabric_.messages, message);
  if (profile_.doorbell_carries_request) return look_up(pair, message);
  const Pcie::Passage read = pcie_.read(now, request_bytes);
  account(read, now);
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
      const Ps there = translations_.access(message.source_page, now);
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
  const Ps context_there = contexts_.access(pair.number, now);
  const Ps there = std::max(context_there, requests_.enter(now));
  message.requests = &requests_;
  if (there <= now) return process(pair, message);
  spend(Spent::context_miss, context_there - now);
  spend(Spent::request_miss, there - context_there);
  plan(there, Stage::contexts_there, message);
}

void Nic::process(QueuePairState& pair, Message& message) {
  const Ps end = work(costs(message.transport).send, "send").end;
  if (message.inlined || message.bytes == 0) {
    due(pair, message, end + message.behind);
  } else {
    plan(end, Stage::payload, message);
  }
}

void Nic::read_payload(QueuePairState& pair, Message& message) {
  const Pcie::Passage read = pcie_.read(world_.now(), message.bytes);
  account(read, world_.now());
  due(pair, message, read.end + message.behind);
}

// The message may enter the link at that time, and so may those behind it that are ready.
void Nic::due(QueuePairState& pair, Message& message, Ps at) {
  message.ready_at = at;
  while (!pair.on_card.empty() && fabric_.messages[pair.on_card.first()].ready_at != Message::not_ready) {
    Message& first = pair.on_card.pop(fabric_.messages);
    pair.link_after = std::max(pair.link_after, first.ready_at);
    spend(Spent::nic_queue, pair.link_after - first.ready_at);
    plan(pair.link_after, Stage::link, first);
  }
}

void Nic::enter_link(QueuePairState& pair, Message& message) {
  if (pair.failed) return release(message);
  if (!pair.held_back.empty()) return pair.held_back.insert(fabric_.messages, message);
  Network& network = fabric_.network;
  const std::uint32_t header = costs(message.transport).header_bytes;
  Card& receiver = card_of(message.to);
  const auto send_one = [&](Message& one) {
    return network.send(host_, one.to.host, one.bytes, header, receiver, tag(Stage::arrival, one.number));
  };
  const Network::Fate fate = network.draw_fate(message.bytes);
  message.lost = fate.lost;
  faults_.lost += fate.lost ? 1 : 0;
  if (pair.reliable()) {
    send_one(message);
    return;
  }
  message.leave_requests();
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

void Nic::take_acknowledgement(Message& message) {
  const Ps end = work(profile_.rc.ack, "ack").end + message.behind;
  if (message.signalled) spend(Spent::nic, pcie_.latency());
  acknowledged(message, end + pcie_.latency());
}

// --- receiving

void Nic::arrived(Message& message) {
  const Ps now = world_.now();
  if (message.lost) return not_accepted(message, Answer::lost);
  if (message.delay > 0) return plan(now + std::exchange(message.delay, 0), Stage::arrival, message);
  if (const Answer answer = accept(message); answer != Answer::accepted) return not_accepted(message, answer);
  QueuePairState& pair = *find(message.to.queue_pair);
  const Ps there = contexts_.access(pair.number, now);
  spend(Spent::context_miss, there - now);
  ++pair.awaiting_context;
  if (there <= now && pair.awaiting_context == 1) return receive(message);
  plan(there, Stage::receive, message);
}

void Nic::receive(Message& message) {
  QueuePairState* pair = find(message.to.queue_pair);
  if (pair == nullptr) return not_accepted(message, Answer::none);
  --pair->awaiting_context;
  const Ps now = world_.now();
  const NicTransportProfile& own = costs(message.transport);
  const Units::Service service = work(own.receive + (pair->reliable() ? own.ack : 0), "receive");
  Ps ready = service.start + own.receive;
  const bool failed = message.status != CompletionStatus::ok;
  const std::uint32_t bytes = failed ? 0 : message.bytes;
  if (bytes > 0) {
    const Ps there = translations_.access(message.receive.page, now);
    spend(Spent::translation_miss, std::max<Ps>(there - ready, 0));
    ready = std::max(ready, there);
  }
  const Ps fetch = profile_.receive_fetch + profile_.receive_fetch_an_sge * pair->setup.max_sge;
  spend(Spent::nic, fetch);
  ready += fetch;
  const Pcie::Passage write = pcie_.write(ready, bytes + completion_bytes);
  account(write, ready);
  plan(write.end, Stage::received, message);
  if (failed) pair->completed_after = std::max(pair->completed_after, write.end);
  if (!pair->reliable()) return;
  ++message.uses;
  message.behind = service.end - now;
  fabric_.network.send(host_, message.from.host, 0, own.ack_bytes, card_of(message.from),
                       tag(Stage::acknowledged, message.number));
}

}  // namespace rkv::sim
