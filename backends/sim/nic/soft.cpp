#include "backends/sim/nic/soft.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "backends/sim/cpu/thread.hpp"

namespace rkv::sim {

BackoffLock* SoftNic::receiver_lock(std::uint32_t number) {
  const Message& message = fabric_.messages[number];
  if (!message.takes_receive()) return nullptr;
  return &static_cast<SoftNic&>(card_of(message.to)).locks(message.to.queue_pair).receives;
}

void SoftNic::owe(Ps time) {
  if (world_.playing() == nullptr) return spend(Spent::kernel, time);
  owed_[world_.playing()].time += time;
}

// An RC completion comes after the next send of the post, which finds the queue armed still.
void SoftNic::owe_for_own(Ps time) {
  if (world_.playing() == nullptr || !std::exchange(owed_[world_.playing()].for_own, true)) owe(time);
}

void SoftNic::end_post() {
  if (const auto owed = owed_.extract(world_.playing())) hold_poster(owed.mapped().time, Spent::kernel);
}

void SoftNic::send(QueuePairState& pair, Message& message) {
  const Ps now = world_.now();
  message.posted_by = world_.playing();
  const Core* posted_on = message.posted_by == nullptr ? nullptr : message.posted_by->core;
  const CompletionSink* receiver = receiver_of(message);
  const Core* reader = posted_on == nullptr || receiver == nullptr ? nullptr : receiver->reader();
  const bool elsewhere = reader != nullptr && reader != posted_on;
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
  const bool makes_event =
      !fate.lost && message.takes_receive() && receiver != nullptr && receiver->wants_event();
  const CompletionSink& own = *pair.setup.send_completions;
  hold_poster(start - now, Spent::lock);
  hold_poster(pair.link_after - start, Spent::nic);
  if (makes_event) owe(soft_event_cost(profile_, *receiver));
  if (message.signalled && own.wants_event()) owe_for_own(soft_event_cost(profile_, own));
  // Who is woken finds it there.
  const Ps seen = elsewhere && !makes_event ? profile_.soft_visible : 0;
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
    world_.set_cause(message.posted_by);
    received(message);
    world_.set_cause(nullptr);
  }
  if (message.transport == Transport::rc) acknowledged(message, world_.now());
}

void SoftNic::receive_posted(QueuePairState& pair, Ps visible_from) {
  if (pair.reliable() && pair.connected) retry_peer(pair, visible_from);
}

}  // namespace rkv::sim
