#include "backends/sim/nic/card.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "backends/sim/cpu/thread.hpp"

namespace rkv::sim {
namespace {

constexpr int number_shift = 8;           // of an event's tag; below it the stage
constexpr std::uint32_t retry_count = 6;  // RC: as backends/verbs asks for

}  // namespace

Card::Card(Fabric& fabric, const NicProfile& profile, std::uint32_t host)
    : world_(fabric.world), fabric_(fabric), profile_(profile), host_(host), pairs_(first_number) {
  if (fabric.cards.size() <= host) fabric.cards.resize(host + 1);
  fabric.cards[host] = this;
}

std::uint64_t Card::tag(Stage stage, std::uint32_t number) {
  return std::uint64_t{number} << number_shift | static_cast<std::uint64_t>(stage);
}

std::uint64_t Card::ring_tag(std::uint32_t message) {
  return tag(Stage::ring, message);
}

std::uint64_t Card::end_post_tag() {
  return tag(Stage::end_post, 0);
}

void Card::plan(Ps at, Stage stage, const Message& message) {
  world_.at(at, *this, tag(stage, message.number));
}

void Card::plan_at(Card& card, Ps at, Stage stage, const Message& message) {
  world_.at(at, card, tag(stage, message.number));
}

void Card::on_event(std::uint64_t event) {
  const auto stage = static_cast<Stage>(event & ((1U << number_shift) - 1));
  const auto number = static_cast<std::uint32_t>(event >> number_shift);
  switch (stage) {
    case Stage::retry:
      if (QueuePairState* pair = find(number)) retry(*pair);
      break;
    case Stage::flush:
      if (QueuePairState* pair = find(number)) flush(*pair);
      break;
    case Stage::ring:
      ring(fabric_.messages[number]);
      break;
    case Stage::end_post:
      end_post();
      break;
    case Stage::received:
      received(fabric_.messages[number]);
      break;
    case Stage::sent:
      sent(fabric_.messages[number]);
      break;
    default:
      on_stage(stage, fabric_.messages[number]);
  }
}

std::uint32_t Card::make_queue_pair(const QueuePairSetup& setup) {
  const auto number = static_cast<std::uint32_t>(pairs_.size());
  pairs_.push_back(std::make_unique<QueuePairState>(number, setup));
  return number;
}

void Card::destroy_queue_pair(std::uint32_t number) {
  QueuePairState& pair = *pairs_[number];
  pair.setup.send_completions->forget(number);
  pair.setup.receive_completions->forget(number);
  release_all(pair.held_back);
  release_all(pair.answered);
  while (!pair.on_card.empty()) {
    Message& message = pair.on_card.pop(fabric_.messages);
    if (message.ready_at != Message::not_ready) release(message);  // the others' events are still to come
  }
  pairs_[number].reset();
}

void Card::connect(std::uint32_t number, const Address& peer) {
  QueuePairState& pair = *pairs_[number];
  pair.peer = peer;
  pair.connected = true;
}

void Card::fail(std::uint32_t number) {
  QueuePairState& pair = *pairs_[number];
  if (!pair.connected || pair.failed) return;
  pair.failed = true;
  release_all(pair.held_back);
  plan_flush(pair);
}

Card::Posted Card::post_send(std::uint32_t number, const SendWork& work) {
  QueuePairState& pair = *pairs_[number];
  if (!pair.connected) return {.refusal = EINVAL};
  if (pair.sends_posted - pair.sends_freed >= pair.setup.send_depth) return {.refusal = ENOMEM};
  ++pair.sends_posted;
  Message& message = fabric_.messages.make();
  message.transport = pair.setup.transport;
  message.from = {.host = host_, .queue_pair = number};
  message.to = pair.datagram() ? work.to : pair.peer;
  message.id = work.id;
  message.operation = work.operation;
  message.bytes = static_cast<std::uint32_t>(work.bytes.size());
  message.signalled = work.signalled;
  message.watched = work.watched;
  message.inlined = work.inlined;
  message.source = message.destination = work.bytes.data();
  message.address = work.address;
  message.remote = work.remote;
  message.immediate = work.immediate;
  message.operand = work.operand;
  message.swap = work.swap;
  message.follows = work.follows;
  message.chained_bytes = work.chained_bytes;
  if (work.inlined) message.payload.assign(work.bytes.begin(), work.bytes.end());
  return {.refusal = 0, .message = message.number};
}

int Card::post_receive(std::uint32_t number, const ReceiveSlot& receive) {
  QueuePairState& pair = *pairs_[number];
  if (pair.setup.shared_receives != nullptr) return EINVAL;
  if (pair.own_receives.full()) return ENOMEM;
  pair.own_receives.post(receive);
  if (pair.failed) {
    plan_flush(pair);
  } else {
    receive_posted(pair, receive.visible_from);
  }
  return 0;
}

int Card::post_receive(ReceiveSlots& shared, const ReceiveSlot& receive) {
  if (shared.full()) return ENOMEM;
  shared.post_in_order(receive);
  if (!std::exchange(shared.missed, false)) return 0;
  for (const auto& pair : pairs_) {
    if (pair != nullptr && pair->setup.shared_receives == &shared && !pair->failed) {
      receive_posted(*pair, receive.visible_from);
    }
  }
  return 0;
}

void Card::taken(const Finished& finished) {
  QueuePairState* pair = find(finished.completion.queue_pair);
  if (pair == nullptr) return;
  if (finished.of_send) {
    pair->sends_freed = std::max(pair->sends_freed, finished.sends_done);
  } else {
    pair->receives().free_one();
  }
}

std::uint64_t Card::reserve_addresses(std::uint64_t bytes) {
  const std::uint64_t page_bytes = profile_.page_bytes;
  return std::exchange(pages_, pages_ + (bytes + page_bytes - 1) / page_bytes) * page_bytes;
}

void Card::hold_poster(Ps time, Spent where) {
  if (Thread* thread = world_.playing()) {
    thread->stall(time, where);
  } else {
    spend(where, time);
  }
}

Message& Card::duplicate(const Message& message) {
  Message& copy = fabric_.messages.make();
  const std::uint32_t number = copy.number;
  copy = message;
  copy.number = number;
  copy.next = Message::none;
  copy.uses = 1;
  return copy;
}

void Card::release_all(MessageList& list) {
  while (!list.empty()) release(list.pop(fabric_.messages));
}

// --- sending

void Card::ring(Message& message) {
  QueuePairState* pair = find(message.from.queue_pair);
  if (pair == nullptr) return release(message);
  if (!message.inlined && !message.reads()) {
    message.payload.assign(message.source, message.source + message.bytes);
  }
  message.sequence = pair->sends_rung++;
  pair->send_ids[message.sequence % pair->send_ids.size()] = message.id;
  if (pair->failed) {
    release(message);
    plan_flush(*pair);
    return;
  }
  send(*pair, message);
}

// Counts it as done. False: nobody waits for it any more.
bool Card::finish_send(Message& message) {
  QueuePairState* pair = find(message.from.queue_pair);
  if (pair == nullptr || pair->failed) return false;
  pair->sends_done = std::max(pair->sends_done, message.sequence + 1);
  pair->unanswered = 0;
  if (message.status != CompletionStatus::ok) {
    pair->failed = true;
    release_all(pair->held_back);
  }
  return true;
}

// A READ's bytes come with its completion, signalled or not.
void Card::complete_send(QueuePairState& pair, Message& message, Ps at) {
  pair.completed_after = std::max(pair.completed_after, at);
  plan(pair.completed_after, Stage::sent, message);
}

void Card::sent(Message& message) {
  if (QueuePairState* pair = find(message.from.queue_pair)) {
    const bool failed = message.status != CompletionStatus::ok;
    if (message.reads() && !failed) {
      std::copy(message.payload.begin(), message.payload.end(), message.destination);
    }
    Finished finished;
    finished.completion.id = message.id;
    finished.completion.status = message.status;
    finished.completion.queue_pair = pair->number;
    finished.of_send = true;
    if (message.signalled || failed) finished.sends_done = message.sequence + 1;
    if (message.signalled || message.watched || failed) pair->setup.send_completions->push(finished);
    if (failed) flush(*pair);
  }
  release(message);
}

// --- receiving

const CompletionSink* Card::receiver_of(const Message& message) {
  const QueuePairState* pair = card_of(message.to).find(message.to.queue_pair);
  return pair == nullptr ? nullptr : pair->setup.receive_completions;
}

Card::Answer Card::accept(Message& message) {
  QueuePairState* pair = find(message.to.queue_pair);
  if (pair == nullptr || !pair->connected || pair->failed || pair->setup.transport != message.transport ||
      (!pair->datagram() && pair->peer != message.from)) {
    return Answer::none;
  }
  if (pair->reliable() && message.sequence != pair->expected) return Answer::out_of_order;
  if (message.one_sided() && !may_access(*pair, message)) {
    ++pair->expected;
    if (!pair->reliable()) return Answer::none;
    message.status = CompletionStatus::access;
    pair->failed = true;
    release_all(pair->held_back);
    return Answer::accepted;
  }
  if (!message.takes_receive()) {
    ++pair->expected;
    return Answer::accepted;
  }
  ReceiveSlots& receives = pair->receives();
  const ReceiveSlot* receive = receives.empty() ? nullptr : &receives.front();
  if (receive == nullptr || receive->visible_from > world_.now()) {
    receives.missed = true;
    if (!pair->reliable()) ++faults_.no_receive;
    return Answer::not_ready;
  }
  if (!message.one_sided() && message.bytes + receive_headroom_bytes(message.transport) > receive->length) {
    if (!pair->reliable()) {
      ++faults_.too_long;
      return Answer::none;
    }
    message.status = CompletionStatus::message_length;
    pair->failed = true;
    release_all(pair->held_back);
  }
  message.receive = *receive;
  message.receive_seen = receives.pop(world_.now());
  ++pair->expected;
  return Answer::accepted;
}

bool Card::may_access(const QueuePairState& pair, const Message& message) const {
  const bool aligned = !message.atomic() || message.remote.address % atomic_bytes == 0;
  return aligned && pair.setup.one_sided && exposed(message.remote, message.bytes).size() == message.bytes &&
         allows(message);
}

// So many bytes, or none when they are not all exposed.
std::span<std::byte> Card::exposed(const RemoteMemory& memory, std::uint32_t bytes) const {
  if (memory.key >= exposed_.size()) return {};
  const Exposed& region = exposed_[memory.key];
  const std::uint64_t offset = memory.address - region.address;
  if (memory.address < region.address || offset > region.bytes.size() ||
      region.bytes.size() - offset < bytes) {
    return {};
  }
  return region.bytes.subspan(offset, bytes);
}

// Whether the region that it names, which there is, may be used so.
bool Card::allows(const Message& message) const {
  if (message.remote.key >= exposed_.size()) return message.bytes == 0;
  switch (exposed_[message.remote.key].access) {
    case PeerAccess::read:
      return message.operation == SendOperation::read;
    case PeerAccess::write:
      return is_write(message.operation);
    case PeerAccess::all:
      return true;
  }
  return false;
}

RemoteMemory Card::expose(std::span<std::byte> bytes, std::uint64_t address, PeerAccess access) {
  const RemoteMemory memory{.address = address, .key = static_cast<std::uint32_t>(exposed_.size())};
  exposed_.push_back({.bytes = bytes, .address = address, .access = access});
  return memory;
}

void Card::hide(const RemoteMemory& memory) {
  exposed_[memory.key] = {};
}

void Card::observe(const RemoteMemory& memory, WriteObserver& observer) {
  exposed_[memory.key].observers.push_back(&observer);
}

void Card::stop_observing(const RemoteMemory& memory, WriteObserver& observer) {
  std::erase(exposed_[memory.key].observers, &observer);
}

void Card::capture_read(Message& message) {
  const std::span<std::byte> from = exposed(message.remote, message.bytes);
  message.payload.assign(from.begin(), from.end());
  if (message.atomic() && !from.empty()) change(message, from);
}

void Card::change(const Message& message, std::span<std::byte> bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), sizeof word);
  if (message.operation == SendOperation::fetch_and_add) {
    word += message.operand;
  } else if (word == message.operand) {
    word = message.swap;
  }
  std::memcpy(bytes.data(), &word, sizeof word);
  tell_observers(message.remote, bytes.size());
}

void Card::tell_observers(const RemoteMemory& memory, std::uint64_t bytes) {
  for (WriteObserver* observer : exposed_[memory.key].observers) observer->written(memory.address, bytes);
}

void Card::received(Message& message) {
  if (QueuePairState* const pair = find(message.to.queue_pair)) {
    const bool failed = message.status != CompletionStatus::ok;
    if (message.one_sided() && !failed) place(message);
    if (message.took_receive()) complete_receive(*pair, message);
    if (failed) flush(*pair);
  }
  release(message);
}

// A WRITE's bytes, unless their memory was hidden since it was accepted.
void Card::place(const Message& message) {
  const std::span<std::byte> to = exposed(message.remote, message.bytes);
  if (to.empty()) return;
  std::copy_n(message.payload.begin(), to.size(), to.begin());
  tell_observers(message.remote, to.size());
}

void Card::complete_receive(QueuePairState& pair, const Message& message) {
  Finished finished;
  finished.completion.id = message.receive.id;
  finished.completion.status = message.status;
  finished.completion.queue_pair = pair.number;
  if (message.one_sided()) {
    finished.completion.immediate = message.immediate;
  } else if (message.status == CompletionStatus::ok) {
    finished.completion.bytes = message.bytes;
    if (pair.datagram()) finished.completion.source_queue_pair = message.from.queue_pair;
    std::copy(message.payload.begin(), message.payload.end(),
              message.receive.bytes + receive_headroom_bytes(message.transport));
  }
  pair.setup.receive_completions->push(finished);
}

// --- sending again

void Card::not_accepted(Message& message, Answer answer) {
  if (message.transport != Transport::rc) return release(message);
  Card& sender = card_of(message.from);
  QueuePairState* pair = sender.find(message.from.queue_pair);
  if (pair == nullptr || pair->failed) return release(message);
  if (answer == Answer::not_ready) return sender.hold_back(message, profile_.rnr_delay);
  if (answer == Answer::none && message.sequence == pair->sends_done && ++pair->unanswered > retry_count) {
    message.status = CompletionStatus::peer_unreachable;
    return sender.acknowledged(message, world_.now() + sender.completion_latency());
  }
  sender.hold_back(message, profile_.retransmit_delay);
}

void Card::acknowledged(Message& message, Ps at) {
  card_of(message.from).answered(message, at);
}

// Acknowledgements are in the order of the requests: one behind a READ does not overtake the response.
void Card::answered(Message& message, Ps at) {
  const std::uint32_t number = message.from.queue_pair;
  QueuePairState* pair = find(number);
  if (pair != nullptr && !pair->failed && !message.reads() && message.sequence > pair->sends_done) {
    message.answered_at = at;
    return pair->answered.insert(fabric_.messages, message);
  }
  finish(message, at);
  for (pair = find(number); pair != nullptr && !pair->answered.empty(); pair = find(number)) {
    Message& next = fabric_.messages[pair->answered.first()];
    if (next.sequence > pair->sends_done) return;
    pair->answered.pop(fabric_.messages);
    finish(next, std::max(at, next.answered_at));
  }
}

void Card::finish(Message& message, Ps at) {
  const bool shows = message.signalled || message.reads() || message.status != CompletionStatus::ok;
  if (finish_send(message) && shows) {
    complete_send(*find(message.from.queue_pair), message, at);
  } else {
    release(message);
  }
}

void Card::hold_back(Message& message, Ps delay) {
  QueuePairState* pair = find(message.from.queue_pair);
  if (pair == nullptr || pair->failed) return release(message);
  message.lost = false;
  pair->held_back.insert(fabric_.messages, message);
  if (pair->retry_at < forever) return;
  spend(Spent::receiver_not_ready, delay);
  retry_by(*pair, world_.now() + delay);
}

void Card::retry_by(QueuePairState& pair, Ps at) {
  if (pair.held_back.empty() || pair.retry_at <= at) return;
  pair.retry_at = at;
  world_.at(at, *this, tag(Stage::retry, pair.number));
}

void Card::retry_peer(const QueuePairState& pair, Ps at) {
  Card& sender = card_of(pair.peer);
  if (QueuePairState* peer = sender.find(pair.peer.queue_pair)) sender.retry_by(*peer, at);
}

void Card::retry(QueuePairState& pair) {
  if (pair.retry_at != world_.now()) return;  // it was brought forward
  pair.retry_at = forever;
  MessageList list = std::exchange(pair.held_back, {});
  while (!list.empty()) send_again(pair, list.pop(fabric_.messages));
}

// --- failing

void Card::plan_flush(QueuePairState& pair) {
  const Ps at = std::max(world_.now() + completion_latency(), pair.completed_after);
  world_.at(at, *this, tag(Stage::flush, pair.number));
}

void Card::flush(QueuePairState& pair) {
  Finished finished;
  finished.completion.status = CompletionStatus::flushed;
  finished.completion.queue_pair = pair.number;
  finished.of_send = true;
  while (pair.sends_done < pair.sends_rung) {
    finished.completion.id = pair.send_ids[pair.sends_done % pair.send_ids.size()];
    finished.sends_done = ++pair.sends_done;
    pair.setup.send_completions->push(finished);
  }
  finished.of_send = false;
  for (ReceiveSlots& own = pair.own_receives; !own.empty(); own.pop(world_.now())) {
    finished.completion.id = own.front().id;
    pair.setup.receive_completions->push(finished);
  }
}

}  // namespace rkv::sim
