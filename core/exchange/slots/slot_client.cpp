#include "core/exchange/slots/slot_client.hpp"

#include <algorithm>
#include <utility>

#include "core/exchange/slots/publish_frame.hpp"
#include "core/exchange/slots/take_message.hpp"
#include "core/exchange/wait_set_of.hpp"

namespace rkv {
namespace {

// Owners of work request ids: READs of responses and of items, each connection's WRITEs and its receives.
constexpr std::uint32_t of_read = 0;
constexpr std::uint32_t of_item = 1;
constexpr std::uint32_t of_write = 2;  // and the connection's number; receives behind these

// Receives that tell of responses.
std::uint32_t receives(const Scenario& scenario) {
  if (!SlotPlan(scenario).responses_told()) return 0;
  return scenario.queue_pair.receive_depth * scenario.queue_pair.per_client;
}

// Who waits for items that are READ beside responses waits for one queue.
bool one_queue(const Scenario& scenario) {
  return receives(scenario) > 0 && scenario.store.kind == StoreOptions::Kind::items;
}

std::uint32_t completion_depth(const Scenario& scenario) {
  return request_lane_depth(scenario) * scenario.queue_pair.per_client + scenario.load.window +
         (one_queue(scenario) ? receives(scenario) : 0);
}

std::unique_ptr<CompletionQueue> make_receive_queue(Device& device, const Scenario& scenario) {
  if (receives(scenario) == 0 || one_queue(scenario)) return device.make_completion_queue(1, false);
  return device.make_completion_queue(receives(scenario), Waiter::blocks(client_policy(scenario)));
}

QueuePairSpec queue_pair_spec(const Scenario& scenario, CompletionQueue& completions,
                              CompletionQueue& receive_completions) {
  return {.transport = scenario.transport,
          .send_completions = &completions,
          .receive_completions = one_queue(scenario) ? &completions : &receive_completions,
          .send_depth = static_cast<std::uint32_t>(slot_send_depth(scenario)),
          .receive_depth = receives(scenario) > 0 ? scenario.queue_pair.receive_depth : 1,
          .max_sge = scenario.queue_pair.max_sge,
          .inline_bytes = scenario.queue_pair.inline_bytes,
          .one_sided = true};
}

}  // namespace

SlotClient::SlotClient(const Port& port, const Scenario& scenario, const StopFlag& stop)
    : runtime_(*port.runtime),
      stop_(stop),
      plan_(scenario),
      options_(scenario.queue_pair),
      format_(scenario.message),
      take_(Waiter::largest_take(client_policy(scenario))),
      read_pause_(scenario.slots.read_pause),
      slots_(plan_.window),
      requests_(port.device->make_region(region_bytes(plan_.window, plan_.request_slot_bytes))),
      responses_(plan_.responses_written
                     ? port.device->make_exposed_region(region_bytes(plan_.window, plan_.response_slot_bytes),
                                                        PeerAccess::write)
                     : port.device->make_region(region_bytes(plan_.window, plan_.response_slot_bytes))),
      completions_(port.device->make_completion_queue(completion_depth(scenario),
                                                      Waiter::blocks(client_policy(scenario)))),
      receive_completions_(make_receive_queue(*port.device, scenario)),
      connections_(*port.device, queue_pair_spec(scenario, *completions_, *receive_completions_),
                   plan_.queue_pairs, request_lane_depth(scenario), options_.signal_interval),
      receives_(options_, of_write + plan_.queue_pairs),
      watch_(plan_.responses_written && !plan_.immediate
                 ? port.device->watch_slots({.region = responses_.get(),
                                             .offset = 0,
                                             .slot_bytes = plan_.response_slot_bytes,
                                             .count = plan_.window,
                                             .check = plan_.response_check})
                 : nullptr),
      told_apart_(plan_.responses_told() && !one_queue(scenario)),
      completion_set_(wait_set_of(port, *completions_, stop)),
      response_set_(watch_        ? wait_set_of(port, *completions_, *watch_, stop)
                    : told_apart_ ? wait_set_of(port, *receive_completions_, stop)
                                  : wait_set_of(port, *completions_, stop)),
      completion_waiter_(*completion_set_, client_policy(scenario)),
      response_waiter_(*response_set_, client_policy(scenario)),
      message_stride_(round_to_line(format_.largest_response_bytes())),
      taken_(completion_depth(scenario)) {
  if (!plan_.requests_written) {
    published_requests_ = port.device->make_exposed_region(
        region_bytes(plan_.window, plan_.request_slot_bytes), PeerAccess::read);
  }
  if (plan_.responses_sent()) {
    receiver_.emplace(port, scenario, Transport::ud, 1, stop);
    datagrams_ = port.device->make_queue_pair({.transport = Transport::ud,
                                               .send_completions = receive_completions_.get(),
                                               .receive_completions = &receiver_->completions(),
                                               .send_depth = 1,
                                               .receive_depth = receiver_->depth(),
                                               .max_sge = options_.max_sge});
    receiver_->attach({datagrams_.get()});
  }
  if (plan_.responses_told()) receives_.post(connections_);
  if (scenario.store.kind == StoreOptions::Kind::items) gets_.emplace(port, scenario);
  messages_.resize(std::size_t{message_stride_} * std::max(take_, 1U));
  landed_.reserve(plan_.window);
}

Endpoint SlotClient::endpoint() const {
  Endpoint self = connections_.endpoint();
  if (published_requests_) self.requests = published_requests_->remote();
  if (plan_.responses_written) self.responses = responses_->remote();
  if (datagrams_) {
    const Endpoint datagram = datagrams_->endpoint();
    self.datagram_queue_pair = datagram.queue_pair;
    self.datagram_qkey = datagram.qkey;
  }
  return self;
}

void SlotClient::connect(const Endpoint& server) {
  server_ = server;
  connections_.connect(server);
  if (datagrams_) datagrams_->connect(server);
  if (gets_) gets_->connect(server.items);
}

std::span<std::byte> SlotClient::request_buffer(std::uint32_t slot) {
  return requests_->bytes().subspan(std::size_t{slot} * plan_.request_slot_bytes + frame_header_bytes,
                                    format_.largest_request_bytes());
}

bool SlotClient::send(std::uint32_t index, std::uint32_t bytes) {
  if (gets_ && gets_->begin(index, request_buffer(index).first(bytes))) return read_item(index);
  return send_request(index, bytes);
}

bool SlotClient::send_request(std::uint32_t index, std::uint32_t bytes) {
  Slot& slot = slots_[index];
  const std::uint32_t offset = index * plan_.request_slot_bytes;
  const std::span<std::byte> frame = requests_->bytes().subspan(offset, plan_.request_slot_bytes);
  // Over UC an earlier WRITE of this slot may still be on its way, when its time was up or a late response
  // came: it is then damaged, as its checksum tells, and was of no more use.
  const std::uint32_t length = seal_frame(frame, ++slot.requests, bytes, plan_.request_check);
  if (plan_.request_check == FrameCheck::checksum) runtime_.charge({.bytes_copied = bytes});
  if (!plan_.requests_written) {
    publish_frame(runtime_, *published_requests_, offset, frame.first(length));
  } else if (!write_request(index, length)) {
    return false;
  }
  if (!plan_.responses_read) return true;
  slot.awaited = true;
  slot.read_again = Instant{};
  return slot.reading || read_response(index);
}

bool SlotClient::write_request(std::uint32_t index, std::uint32_t length) {
  const std::uint32_t connection = connections_.of_slot(index);
  SendLane& lane = connections_.lane(connection);
  if (!make_room(lane)) return false;
  const SendLane::Slot next = lane.next();
  const std::uint32_t offset = index * plan_.request_slot_bytes;
  const int refused = connections_.queue_pair(connection)
                          .post_send({.id = request_id(of_write + connection, next.number),
                                      .operation = plan_.write(),
                                      .region = requests_.get(),
                                      .offset = offset,
                                      .length = length,
                                      .signalled = next.signalled,
                                      .inlined = length <= options_.inline_bytes,
                                      .remote = server_.requests.behind(offset),
                                      .immediate = index});
  if (refused != 0) return break_connection("posting a WRITE was refused");
  if (!next.signalled || !options_.await_send_completion) return true;
  while (!lane.idle()) {
    if (!take_completions()) return false;
  }
  return true;
}

// In the lane.
bool SlotClient::make_room(const SendLane& lane) {
  while (lane.full()) {
    if (!take_completions()) return false;
  }
  return true;
}

bool SlotClient::take_completions() {
  // What one waiter has left over of a queue no other one gets.
  Waiter& waiter = watch_ || told_apart_ ? completion_waiter_ : response_waiter_;
  const WaitResult result = waiter.wait(taken_, never);
  if (result.wake == Wake::stopped) return false;
  for (std::uint32_t i = 0; i < result.count; ++i) {
    if (!handle(taken_[i])) return false;
  }
  return true;
}

bool SlotClient::handle(const Completion& completion) {
  if (completion.status != CompletionStatus::ok) return break_connection(name(completion.status));
  if (id_owner(completion.id) >= of_write + plan_.queue_pairs) {
    return told(id_owner(completion.id) - of_write - plan_.queue_pairs, completion);
  }
  if (id_owner(completion.id) >= of_write) {
    connections_.lane(id_owner(completion.id) - of_write).completed(id_number(completion.id));
  } else if (id_owner(completion.id) == of_item) {
    gets_->ended(id_number(completion.id));
  } else {
    slots_[id_number(completion.id)].reading = false;
    landed_.push_back(id_number(completion.id));
  }
  return true;
}

bool SlotClient::told(std::uint32_t connection, const Completion& completion) {
  if (!receives_.post_anew(connections_, connection)) {
    return break_connection("posting a receive was refused");
  }
  // The server's word.
  if (!completion.immediate || *completion.immediate >= slots_.size()) {
    ++malformed_;
  } else if (!std::exchange(slots_[*completion.immediate].landed, true)) {
    landed_.push_back(*completion.immediate);
  }
  return true;
}

bool SlotClient::read_response(std::uint32_t slot) {
  slots_[slot].reading = true;
  const std::uint32_t offset = slot * plan_.response_slot_bytes;
  QueuePair& queue_pair = connections_.queue_pair(connections_.of_slot(slot));
  const int refused = queue_pair.post_send({.id = request_id(of_read, slot),
                                            .operation = SendOperation::read,
                                            .region = responses_.get(),
                                            .offset = offset,
                                            .length = plan_.response_slot_bytes,
                                            .remote = server_.responses.behind(offset)});
  return refused == 0 || break_connection("posting a READ was refused");
}

bool SlotClient::read_item(std::uint32_t slot) {
  // As many as there are slots have places in the send queue, as responses that are READ: of each slot there
  // is one or the other.
  QueuePair& queue_pair = connections_.queue_pair(connections_.of_slot(slot));
  return queue_pair.post_send(gets_->read(slot, request_id(of_item, slot))) == 0 ||
         break_connection("posting a READ was refused");
}

bool SlotClient::follow(std::span<ResponseView> out, std::uint32_t& count) {
  const auto meaning = gets_ ? gets_->meaning(out[count - 1]) : DirectGets::Meaning::answer;
  if (meaning == DirectGets::Meaning::answer) return true;
  --count;
  if (meaning == DirectGets::Meaning::pointer) return read_item(out[count].slot);
  ++malformed_;
  return true;
}

bool SlotClient::take_items(std::span<ResponseView> out, std::uint32_t& count) {
  while (items_ended() && count < out.size()) {
    const DirectGets::Ended ended = gets_->take_ended();
    if (ended.response) {
      out[count++] = *ended.response;
    } else if (!send_request(ended.slot, ended.request_bytes)) {
      return false;
    }
  }
  return true;
}

Received SlotClient::receive(std::span<ResponseView> out, Instant deadline) {
  if (receiver_) return receiver_->receive(out, deadline);
  out = out.first(std::min<std::size_t>(out.size(), take_));
  return watch_ ? take_written(out, deadline) : take_landed(out, deadline);
}

bool SlotClient::accept(std::span<const std::byte> frame_slot, std::uint32_t slot, FrameWord word,
                        std::span<ResponseView> out, std::uint32_t& count) {
  const std::span<std::byte> place =
      std::span(messages_).subspan(std::size_t{count} * message_stride_, format_.largest_response_bytes());
  const auto message =
      take_message(runtime_, frame_slot, word, plan_.response_check, watch_ != nullptr, place);
  if (!message) return false;
  if (format_.parse_response(*message, out[count]) && out[count].slot == slot) {
    ++count;
  } else {
    ++malformed_;
  }
  return true;
}

Received SlotClient::take_written(std::span<ResponseView> out, Instant deadline) {
  for (;;) {
    WaitResult result{.wake = Wake::completions};
    if (!items_ended()) result = response_waiter_.wait(std::span(taken_).first(out.size()), deadline);
    if (result.wake == Wake::stopped) return {.outcome = ReceiveOutcome::stopped};
    if (result.wake != Wake::completions) return {.outcome = ReceiveOutcome::deadline};
    Received received{.outcome = ReceiveOutcome::responses};
    for (std::uint32_t i = 0; i < result.count; ++i) {
      if (result.source != slots_source) {
        if (!handle(taken_[i])) return {.outcome = ReceiveOutcome::broken};
        continue;
      }
      const auto slot = static_cast<std::uint32_t>(taken_[i].id);
      const FrameWord word = watch_->arrived(slot);
      if (word == 0) continue;
      const std::uint32_t before = received.count;
      // Where it fails a WRITE came upon it, whose frame will be there instead.
      if (accept(watch_->slot(slot), slot, word, out, received.count)) watch_->took(slot, word);
      if (received.count > before && !follow(out, received.count)) {
        return {.outcome = ReceiveOutcome::broken};
      }
    }
    if (!take_items(out, received.count)) return ended();
    if (received.count != 0) return received;
    // A peer whose messages are none must not keep the client from its end.
    if (stop_.requested()) return {.outcome = ReceiveOutcome::stopped};
    if (deadline != never && runtime_.now() >= deadline) return {.outcome = ReceiveOutcome::deadline};
  }
}

// READs again where no READ is under way and its pause is over. next_due: when the next pause is.
bool SlotClient::read_what_is_due(Instant& next_due) {
  if (read_pause_ == Duration::zero()) return true;
  const Instant now = runtime_.now();
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (!slot.awaited || slot.reading) continue;
    if (slot.read_again > now) {
      next_due = std::min(next_due, slot.read_again);
    } else if (!read_response(i)) {
      return false;
    }
  }
  return true;
}

Received SlotClient::take_landed(std::span<ResponseView> out, Instant deadline) {
  for (;;) {
    Instant next_due = never;
    if (!read_what_is_due(next_due)) return {.outcome = ReceiveOutcome::broken};
    if (landed_.empty() && !items_ended()) {
      const std::size_t room = std::min(out.size(), landed_.capacity());
      const WaitResult result =
          response_waiter_.wait(std::span(taken_).first(room), std::min(deadline, next_due));
      if (result.wake == Wake::stopped) return {.outcome = ReceiveOutcome::stopped};
      if (result.wake != Wake::completions) {
        if (next_due < deadline) continue;
        return {.outcome = ReceiveOutcome::deadline};
      }
      for (std::uint32_t i = 0; i < result.count; ++i) {
        if (!handle(taken_[i])) return {.outcome = ReceiveOutcome::broken};
      }
    }
    Received received{.outcome = ReceiveOutcome::responses};
    while (!landed_.empty() && received.count < out.size()) {
      const std::uint32_t index = landed_.back();
      landed_.pop_back();
      Slot& slot = slots_[index];
      slot.landed = false;
      const auto frame = responses_->bytes().subspan(std::size_t{index} * plan_.response_slot_bytes,
                                                     plan_.response_slot_bytes);
      const FrameWord word = whole_frame(frame);
      const std::uint32_t before = received.count;
      if (word > slot.seen && accept(frame, index, word, out, received.count)) slot.seen = word;
      if (received.count > before) {
        slot.awaited = false;
        if (!follow(out, received.count)) return {.outcome = ReceiveOutcome::broken};
      } else if (slot.awaited && read_pause_ > Duration::zero()) {
        slot.read_again = runtime_.now() + read_pause_;
      } else if (slot.awaited && !read_response(index)) {
        return {.outcome = ReceiveOutcome::broken};
      }
    }
    if (!take_items(out, received.count)) return ended();
    if (received.count != 0) return received;
    // READs may end before the next look, so that a wait would never tell of the flag or the deadline.
    if (stop_.requested()) return {.outcome = ReceiveOutcome::stopped};
    if (deadline != never && runtime_.now() >= deadline) return {.outcome = ReceiveOutcome::deadline};
  }
}

}  // namespace rkv
