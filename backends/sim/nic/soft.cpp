#include "backends/sim/nic/soft.hpp"

#include <algorithm>
#include <cmath>

#include "backends/sim/cpu/thread.hpp"

namespace rkv::sim {

const Core* SoftNic::reader_of(const Message& message) {
  const QueuePairState* pair = static_cast<SoftNic&>(card_of(message.to)).find(message.to.queue_pair);
  return pair == nullptr ? nullptr : pair->setup.receive_completions->reader();
}

void SoftNic::send(QueuePairState& pair, Message& message) {
  const Ps now = world_.now();
  const Thread* poster = world_.playing();
  message.posted_on = poster == nullptr ? nullptr : poster->core;
  const Core* reader = message.posted_on == nullptr ? nullptr : reader_of(message);
  const bool elsewhere = reader != nullptr && reader != message.posted_on;
  const Ps move =
      profile_.soft_transfer + (elsewhere ? profile_.soft_elsewhere : 0) +
      std::llround(static_cast<double>(message.bytes) * profile_.soft_copy_ns_per_byte * ps_in_ns);
  Network::Fate fate;
  if (!pair.reliable()) fate = fabric_.network.draw_fate(message.bytes);
  if (fate.lost) fate = {.lost = true};
  faults_.lost += fate.lost ? 1 : 0;
  faults_.reordered += fate.delay > 0 ? 1 : 0;

  const Ps start = std::max(now, pair.link_after);
  const Ps done = start + move;
  pair.link_after = done + (fate.duplicated ? move : 0);
  message.lost = fate.lost;
  const bool wakes = !fate.lost && message.takes_receive() && receiver_wants_event(message);
  hold_poster(start - now, Spent::lock);
  hold_poster(pair.link_after - start, Spent::nic);
  if (wakes) hold_poster(profile_.soft_wake, Spent::kernel);
  // Who is woken finds it there.
  const Ps seen = elsewhere && !wakes ? profile_.soft_visible : 0;
  plan_at(card_of(message.to), done + seen + fate.delay, Stage::arrival, message);
  if (fate.duplicated) {
    ++faults_.duplicated;
    Message& copy = duplicate(message);
    plan_at(card_of(copy.to), pair.link_after, Stage::arrival, copy);
  }
  if (pair.reliable() || !message.signalled) return;
  ++message.uses;
  complete_send(pair, message, done);
}

void SoftNic::send_again(QueuePairState&, Message& message) {
  plan_at(card_of(message.to), world_.now(), Stage::arrival, message);
}

void SoftNic::on_stage(Stage, Message& message) {
  if (message.lost) return not_accepted(message, Answer::lost);
  if (const Answer answer = accept(message); answer != Answer::accepted) return not_accepted(message, answer);
  if (message.transport == Transport::rc) ++message.uses;
  if (message.reads() && message.status == CompletionStatus::ok) {
    capture_read(message);
    release(message);  // nothing is written here
  } else {
    world_.set_cause(message.posted_on);
    received(message);
    world_.set_cause(nullptr);
  }
  if (message.transport == Transport::rc) acknowledged(message, world_.now());
}

void SoftNic::receive_posted(QueuePairState& pair, Ps visible_from) {
  if (pair.reliable() && pair.connected) retry_peer(pair, visible_from);
}

}  // namespace rkv::sim
