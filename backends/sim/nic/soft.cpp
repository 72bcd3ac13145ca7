#include "backends/sim/nic/soft.hpp"

#include <algorithm>
#include <cmath>

namespace rkv::sim {

void SoftNic::send(QueuePairState& pair, Message& message) {
  const Ps now = world_.now();
  const Ps move = profile_.soft_transfer + std::llround(static_cast<double>(message.bytes) *
                                                        profile_.soft_copy_ns_per_byte * ps_in_ns);
  Network::Fate fate;
  if (!pair.reliable()) fate = fabric_.network.draw_fate(message.bytes);
  if (fate.lost) fate = {.lost = true};
  faults_.lost += fate.lost ? 1 : 0;
  faults_.reordered += fate.delay > 0 ? 1 : 0;

  const Ps start = std::max(now, pair.link_after);
  const Ps done = start + move;
  pair.link_after = done + (fate.duplicated ? move : 0);
  message.lost = fate.lost;
  const bool wakes = !fate.lost && !message.one_sided() && receiver_wants_event(message);
  hold_poster(start - now, Spent::lock);
  hold_poster(pair.link_after - start, Spent::nic);
  if (wakes) hold_poster(profile_.soft_wake, Spent::kernel);
  plan_at(card_of(message.to), done + fate.delay, Stage::arrival, message);
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
    received(message);
  }
  if (message.transport == Transport::rc) acknowledged(message, world_.now());
}

void SoftNic::receive_posted(QueuePairState& pair, Ps visible_from) {
  if (pair.reliable() && pair.connected) retry_peer(pair, visible_from);
}

}  // namespace rkv::sim
