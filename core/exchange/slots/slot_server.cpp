#include "core/exchange/slots/slot_server.hpp"

#include <algorithm>
#include <utility>

#include "core/completion/waiter.hpp"
#include "core/exchange/slots/publish_frame.hpp"
#include "core/exchange/slots/take_message.hpp"
#include "core/exchange/wait_set_of.hpp"

namespace rkv {

SlotHub::SlotHub(const Port& port, const Scenario& scenario, std::uint32_t clients, std::uint32_t workers)
    : port_(port),
      scenario_(scenario),
      plan_(scenario),
      format_(scenario.message),
      clients_(clients),
      workers_(workers),
      lane_depth_(response_lane_depth(scenario)) {
  const SlotCounts counts = slot_counts(scenario_, clients, workers);
  const std::size_t request_bytes = region_bytes(counts.requests, plan_.request_slot_bytes);
  requests_ = plan_.requests_written ? port_.device->make_exposed_region(request_bytes, PeerAccess::write)
                                     : port_.device->make_region(request_bytes);
  responses_ = port_.device->make_region(region_bytes(counts.responses, plan_.response_slot_bytes));
  if (plan_.responses_read) {
    published_responses_ = port_.device->make_exposed_region(
        region_bytes(counts.published, plan_.response_slot_bytes), PeerAccess::read);
  }
  const QueuePairOptions& options = scenario_.queue_pair;
  for (std::uint32_t w = 0; w < workers_; ++w) {
    completions_.push_back(port_.device->make_completion_queue(
        static_cast<std::uint32_t>(slot_completion_depth(scenario_, sessions_of(w))),
        Waiter::blocks(scenario_.completion)));
    receives_.push_back(port_.device->make_completion_queue(
        static_cast<std::uint32_t>(slot_receive_completion_depth(scenario_, sessions_of(w))),
        plan_.requests_told() && Waiter::blocks(scenario_.completion)));
    if (plan_.responses_sent()) {
      no_datagrams_.push_back(port_.device->make_completion_queue(1, false));
      datagram_lanes_.emplace_back(lane_depth_, options.signal_interval);
      datagrams_.push_back(port_.device->make_queue_pair({.transport = Transport::ud,
                                                          .send_completions = completions_[w].get(),
                                                          .receive_completions = no_datagrams_[w].get(),
                                                          .send_depth = lane_depth_,
                                                          .receive_depth = 1,
                                                          .max_sge = options.max_sge,
                                                          .inline_bytes = options.inline_bytes}));
    }
    for (std::uint32_t i = 0; i < sessions_of(w); ++i) {
      const QueuePairSpec spec{.transport = scenario_.transport,
                               .send_completions = completions_[w].get(),
                               .receive_completions = receives_[w].get(),
                               .send_depth = lane_depth_ + 1,  // and a READ
                               .receive_depth = plan_.requests_told() ? options.receive_depth : 1,
                               .max_sge = options.max_sge,
                               .inline_bytes = options.inline_bytes,
                               .one_sided = true};
      const auto number = static_cast<std::uint32_t>(sessions_.size());
      Session& session = sessions_.emplace_back(
          Connections(*port_.device, spec, plan_.queue_pairs, lane_depth_, options.signal_interval), options,
          number * plan_.queue_pairs);
      if (plan_.requests_told()) session.receives.post(session.connections);
    }
  }
}

std::uint32_t SlotHub::sessions_of(std::uint32_t worker) const {
  return clients_ / workers_ + (worker < clients_ % workers_ ? 1 : 0);
}

std::uint32_t SlotHub::first_of(std::uint32_t worker) const {
  return worker * (clients_ / workers_) + std::min(worker, clients_ % workers_);
}

Endpoint SlotHub::endpoint(std::uint32_t client) const {
  const std::uint64_t first_slot = std::uint64_t{session_of(client)} * plan_.window;
  Endpoint self = sessions_[session_of(client)].connections.endpoint();
  if (plan_.requests_written) {
    self.requests = requests_->remote().behind(first_slot * plan_.request_slot_bytes);
  }
  if (published_responses_) {
    self.responses = published_responses_->remote().behind(first_slot * plan_.response_slot_bytes);
  }
  return self;
}

void SlotHub::connect(std::uint32_t client, const Endpoint& peer) {
  Session& session = sessions_[session_of(client)];
  session.peer = peer;
  session.connections.connect(peer);
  if (!plan_.responses_sent()) return;
  Endpoint datagram = peer;
  datagram.queue_pair = peer.datagram_queue_pair;
  datagram.qkey = peer.datagram_qkey;
  session.datagrams = port_.device->make_address_handle(datagram);
  // A worker's first client brings its queue pair up.
  if (client < workers_) datagrams_[client]->connect(datagram);
}

class SlotWorker final : public ServerExchange {
 public:
  SlotWorker(SlotHub& hub, std::uint32_t worker, const StopFlag& stop)
      : hub_(hub),
        plan_(hub.plan_),
        runtime_(*hub.port_.runtime),
        stop_(stop),
        worker_(worker),
        first_(hub.first_of(worker)),
        sessions_(hub.sessions_of(worker)),
        take_(plan_.requests_written ? Waiter::largest_take(hub.scenario_.completion) : plan_.window),
        read_pause_(hub.scenario_.slots.read_pause),
        watch_(plan_.requests_written && !plan_.immediate ? hub.port_.device->watch_slots(slots_of(hub))
                                                          : nullptr),
        completion_set_(wait_set_of(hub.port_, *hub.completions_[worker], stop)),
        request_set_(watch_ ? wait_set_of(hub.port_, *hub.completions_[worker], *watch_, stop)
                     : plan_.requests_told() ? wait_set_of(hub.port_, *hub.receives_[worker], stop)
                                             : wait_set_of(hub.port_, *hub.completions_[worker], stop)),
        completion_waiter_(*completion_set_, hub.scenario_.completion),
        request_waiter_(*request_set_, hub.scenario_.completion),
        message_stride_(round_to_line(hub.format_.largest_request_bytes())),
        messages_(std::size_t{message_stride_} * take_),
        taken_(std::max(take_, 16U)),
        responses_sent_(std::size_t{sessions_} * plan_.window),
        requests_seen_(responses_sent_.size()),
        reads_(sessions_) {
    landed_.reserve(sessions_);
  }

  Incoming receive(std::span<IncomingRequest> out) override {
    out = out.first(std::min<std::size_t>(out.size(), take_));
    if (watch_) return take_written(out);
    return plan_.requests_told() ? take_told(out) : take_read(out);
  }

  [[nodiscard]] std::span<std::byte> response_buffer(const IncomingRequest& request) override {
    const SlotHub::Session& session = hub_.sessions_[first_ + local(request.session)];
    while (!plan_.responses_read && lane_of(request).full() && !session.broken) {
      if (!take_completions()) break;  // respond() then posts nothing
    }
    return place_of(request).subspan(plan_.responses_sent() ? 0 : frame_header_bytes,
                                     hub_.format_.largest_response_bytes());
  }

  void respond(const IncomingRequest& request, std::uint32_t bytes) override {
    const std::uint32_t index = local(request.session);
    SlotHub::Session& session = hub_.sessions_[first_ + index];
    if (session.broken || (!plan_.responses_read && lane_of(request).full())) return;
    const std::span<std::byte> place = place_of(request);
    if (plan_.responses_sent()) {
      return post(request, *hub_.datagrams_[worker_], place.first(bytes), {});
    }
    const std::uint32_t slot = index * plan_.window + request.slot;
    const std::uint32_t length = seal_frame(place, ++responses_sent_[slot], bytes, plan_.response_check);
    if (plan_.response_check == FrameCheck::checksum) runtime_.charge({.bytes_copied = bytes});
    if (plan_.responses_read) {
      publish_frame(runtime_, *hub_.published_responses_,
                    ((first_ + index) * plan_.window + request.slot) * plan_.response_slot_bytes,
                    place.first(length));
    } else {
      post(request, session.connections.queue_pair(connection_of(request)), place.first(length),
           session.peer.responses.behind(std::uint64_t{request.slot} * plan_.response_slot_bytes));
    }
  }

  [[nodiscard]] std::uint32_t largest_take() const override { return take_; }
  [[nodiscard]] std::uint64_t rejected() const override { return rejected_; }
  [[nodiscard]] std::uint64_t broken_sessions() const override { return broken_; }

 private:
  // Owners of the ids of READs and of datagrams, beside the lanes' numbers.
  static constexpr std::uint32_t of_read = UINT32_MAX;
  static constexpr std::uint32_t of_datagram = UINT32_MAX - 1;

  struct Read {
    bool under_way = false;
    Instant again{};  // not before
  };

  [[nodiscard]] SlotRange slots_of(const SlotHub& hub) const {
    return {.region = hub.requests_.get(),
            .offset = first_ * plan_.window * plan_.request_slot_bytes,
            .slot_bytes = plan_.request_slot_bytes,
            .count = sessions_ * plan_.window,
            .check = plan_.request_check};
  }
  // A session among this worker's, from the client's number.
  [[nodiscard]] std::uint32_t local(std::uint32_t client) const { return client / hub_.workers_; }
  [[nodiscard]] std::uint32_t client_of(std::uint32_t index) const { return index * hub_.workers_ + worker_; }
  // The session's queue pair that this request's response goes over, by its number.
  [[nodiscard]] std::uint32_t connection_of(const IncomingRequest& request) const {
    return hub_.sessions_[first_ + local(request.session)].connections.of_slot(request.slot);
  }
  [[nodiscard]] SendLane& lane_of(const IncomingRequest& request) {
    return plan_.responses_sent()
               ? hub_.datagram_lanes_[worker_]
               : hub_.sessions_[first_ + local(request.session)].connections.lane(connection_of(request));
  }
  // Among all of the hub, but those of datagrams.
  [[nodiscard]] std::uint32_t lane_number(const IncomingRequest& request) const {
    return (first_ + local(request.session)) * plan_.queue_pairs + connection_of(request);
  }
  // Where this request's response is written.
  [[nodiscard]] std::span<std::byte> place_of(const IncomingRequest& request) {
    const std::size_t lane = plan_.responses_sent() ? worker_ : lane_number(request);
    const std::uint32_t buffer = plan_.responses_read ? 0 : lane_of(request).next_buffer();
    return hub_.responses_->bytes().subspan((lane * hub_.lane_depth_ + buffer) * plan_.response_slot_bytes,
                                            plan_.response_slot_bytes);
  }

  // A response, by WRITE into the client's memory or by SEND.
  void post(const IncomingRequest& request, QueuePair& queue_pair, std::span<const std::byte> bytes,
            const RemoteMemory& to) {
    SlotHub::Session& session = hub_.sessions_[first_ + local(request.session)];
    SendLane& lane = lane_of(request);
    const SendLane::Slot next = lane.next();
    const auto length = static_cast<std::uint32_t>(bytes.size());
    const int refused = queue_pair.post_send(
        {.id = request_id(plan_.responses_sent() ? of_datagram : lane_number(request), next.number),
         .operation = plan_.responses_sent() ? SendOperation::send : plan_.write(),
         .region = hub_.responses_.get(),
         .offset = static_cast<std::uint32_t>(bytes.data() - hub_.responses_->bytes().data()),
         .length = length,
         .signalled = next.signalled,
         .inlined = length <= hub_.scenario_.queue_pair.inline_bytes,
         .destination = session.datagrams.get(),
         .remote = to,
         .immediate = request.slot});
    if (refused != 0) return break_session(session);
    if (!next.signalled || !hub_.scenario_.queue_pair.await_send_completion) return;
    while (!lane.idle() && !session.broken) {
      if (!take_completions()) return;
    }
  }

  // False: stopped.
  [[nodiscard]] bool take_completions() {
    // What one waiter has left over of a queue no other one gets.
    Waiter& waiter = plan_.requests_written ? completion_waiter_ : request_waiter_;
    const WaitResult result = waiter.wait(taken_, never);
    if (result.wake == Wake::stopped) return false;
    for (std::uint32_t i = 0; i < result.count; ++i) handle(taken_[i]);
    return true;
  }

  void handle(const Completion& completion) {
    const std::uint32_t owner = id_owner(completion.id);
    const std::uint32_t number = id_number(completion.id);
    const bool failed = completion.status != CompletionStatus::ok;
    if (owner == of_read) --reads_under_way_;
    if (owner == of_datagram) {
      // A datagram that fails is one that is lost.
      hub_.datagram_lanes_[worker_].completed(number);
    } else if (failed) {
      break_session(hub_.sessions_[owner == of_read ? first_ + number : owner / plan_.queue_pairs]);
    } else if (owner == of_read) {
      landed_.push_back(number);
    } else {
      hub_.sessions_[owner / plan_.queue_pairs].connections.lane(owner % plan_.queue_pairs).completed(number);
    }
  }

  void break_session(SlotHub::Session& session) {
    if (!std::exchange(session.broken, true)) ++broken_;
  }

  // Makes a request of the frame in this slot, in the next place for messages. False: it is not there any
  // more, or not whole.
  [[nodiscard]] bool accept(std::span<const std::byte> frame, std::uint32_t slot, FrameWord word,
                            std::span<IncomingRequest> out, std::uint32_t& count) {
    const std::span<std::byte> place = std::span(messages_).subspan(std::size_t{count} * message_stride_,
                                                                    hub_.format_.largest_request_bytes());
    const auto message = take_message(runtime_, frame, word, plan_.request_check, watch_ != nullptr, place);
    if (!message) return false;
    IncomingRequest& request = out[count];
    request.session = client_of(slot / plan_.window);
    request.slot = slot % plan_.window;
    request.error = hub_.format_.parse_request(*message, request.request);
    if (request.error == ParseError::unreadable || request.request.id.client != request.session ||
        request.request.id.slot != request.slot) {
      ++rejected_;
    } else {
      ++count;
    }
    return true;
  }

  Incoming take_written(std::span<IncomingRequest> out) {
    Incoming incoming;
    const WaitResult result = request_waiter_.wait(std::span(taken_).first(out.size()), never);
    // A peer whose messages are none must not keep the worker from its end.
    incoming.stopped = result.wake == Wake::stopped || stop_.requested();
    for (std::uint32_t i = 0; i < result.count; ++i) {
      if (result.source != slots_source) {
        handle(taken_[i]);
        continue;
      }
      const auto slot = static_cast<std::uint32_t>(taken_[i].id);
      const FrameWord word = watch_->arrived(slot);
      if (word == 0) continue;
      // Where it fails a WRITE came upon it, whose frame will be there instead.
      if (accept(watch_->slot(slot), slot, word, out, incoming.count)) watch_->took(slot, word);
    }
    return incoming;
  }

  Incoming take_told(std::span<IncomingRequest> out) {
    Incoming incoming;
    const WaitResult result = request_waiter_.wait(std::span(taken_).first(out.size()), never);
    // A peer whose messages are none must not keep the worker from its end.
    incoming.stopped = result.wake == Wake::stopped || stop_.requested();
    for (std::uint32_t i = 0; i < result.count; ++i) look_where_told(taken_[i], out, incoming.count);
    return incoming;
  }

  // Makes a request of what this receive's completion tells of, if it is one.
  void look_where_told(const Completion& completion, std::span<IncomingRequest> out, std::uint32_t& count) {
    const std::uint32_t lane = id_owner(completion.id);
    const std::uint32_t number = lane / plan_.queue_pairs;
    SlotHub::Session& session = hub_.sessions_[number];
    if (completion.status != CompletionStatus::ok) return break_session(session);
    if (session.broken) return;
    if (!session.receives.post_anew(session.connections, lane % plan_.queue_pairs)) {
      return break_session(session);
    }
    // The client's word.
    if (!completion.immediate || *completion.immediate >= plan_.window) {
      ++rejected_;
      return;
    }
    const std::uint32_t slot = (number - first_) * plan_.window + *completion.immediate;
    const std::span<const std::byte> frame = frame_in(slot);
    const FrameWord word = whole_frame(frame);
    // Over UC a WRITE that came late may have damaged it, or it was taken with the one before.
    if (word > requests_seen_[slot] && accept(frame, slot, word, out, count)) requests_seen_[slot] = word;
  }

  // This slot, of this worker's.
  [[nodiscard]] std::span<const std::byte> frame_in(std::uint32_t slot) const {
    return hub_.requests_->bytes().subspan(
        (std::size_t{first_} * plan_.window + slot) * plan_.request_slot_bytes, plan_.request_slot_bytes);
  }

  [[nodiscard]] std::uint32_t read_bytes() const { return plan_.window * plan_.request_slot_bytes; }

  void read_requests(std::uint32_t index) {
    SlotHub::Session& session = hub_.sessions_[first_ + index];
    reads_[index].under_way = true;
    const int refused =
        session.connections.queue_pair(0).post_send({.id = request_id(of_read, index),
                                                     .operation = SendOperation::read,
                                                     .region = hub_.requests_.get(),
                                                     .offset = (first_ + index) * read_bytes(),
                                                     .length = read_bytes(),
                                                     .remote = session.peer.requests});
    if (refused != 0) return break_session(session);
    ++reads_under_way_;
  }

  // READs from every client that none is under way from and whose pause is over, in turn, and awaits each
  // before the next if it awaits all that it posts. Says when the next one's pause is over.
  Instant read_what_is_due() {
    const bool one_by_one = hub_.scenario_.queue_pair.await_send_completion;
    Instant next_due = never;
    if (one_by_one && reads_under_way_ > 0) return next_due;
    const Instant now = read_pause_ > Duration::zero() ? runtime_.now() : Instant::max();
    const std::uint32_t first = one_by_one ? next_read_ : 0;
    for (std::uint32_t n = 0; n < sessions_; ++n) {
      const std::uint32_t i = (first + n) % sessions_;
      if (reads_[i].under_way || hub_.sessions_[first_ + i].broken) continue;
      if (reads_[i].again > now) {
        next_due = std::min(next_due, reads_[i].again);
        continue;
      }
      read_requests(i);
      if (!one_by_one || reads_under_way_ == 0) continue;
      next_read_ = (i + 1) % sessions_;
      return never;
    }
    return next_due;
  }

  Incoming take_read(std::span<IncomingRequest> out) {
    Incoming incoming;
    if (stop_.requested()) {
      incoming.stopped = true;
      return incoming;
    }
    const Instant next_due = read_what_is_due();
    if (landed_.empty()) {
      const WaitResult result = request_waiter_.wait(taken_, next_due);
      incoming.stopped = result.wake == Wake::stopped;
      for (std::uint32_t i = 0; i < result.count; ++i) handle(taken_[i]);
    }
    if (landed_.empty()) return incoming;
    const std::uint32_t index = landed_.back();
    landed_.pop_back();
    for (std::uint32_t i = 0; i < plan_.window; ++i) {
      const std::uint32_t slot = index * plan_.window + i;
      const std::span<const std::byte> frame = frame_in(slot);
      const FrameWord word = whole_frame(frame);
      if (word > requests_seen_[slot] && accept(frame, slot, word, out, incoming.count)) {
        requests_seen_[slot] = word;
      }
    }
    reads_[index].under_way = false;
    if (incoming.count == 0 && read_pause_ > Duration::zero()) {
      reads_[index].again = runtime_.now() + read_pause_;
    }
    return incoming;
  }

  SlotHub& hub_;
  const SlotPlan& plan_;
  Runtime& runtime_;
  const StopFlag& stop_;
  const std::uint32_t worker_;
  const std::uint32_t first_;
  const std::uint32_t sessions_;
  const std::uint32_t take_;
  const Duration read_pause_;
  std::unique_ptr<SlotWatch> watch_;
  std::unique_ptr<WaitSet> completion_set_;
  std::unique_ptr<WaitSet> request_set_;
  Waiter completion_waiter_;
  Waiter request_waiter_;
  const std::uint32_t message_stride_;
  std::vector<std::byte> messages_;  // requests that are handed out
  std::vector<Completion> taken_;
  std::vector<std::uint64_t> responses_sent_;  // a slot each, repetitions included
  std::vector<FrameWord> requests_seen_;       // without a watch: the last that were taken
  std::vector<Read> reads_;                    // a session each
  std::uint32_t reads_under_way_ = 0;          // completions to come
  std::uint32_t next_read_ = 0;                // whose turn it is, where READs are awaited
  std::vector<std::uint32_t> landed_;
  std::uint64_t rejected_ = 0;
  std::uint64_t broken_ = 0;
};

std::unique_ptr<ServerExchange> SlotHub::make_worker(std::uint32_t worker, const StopFlag& stop) {
  return std::make_unique<SlotWorker>(*this, worker, stop);
}

}  // namespace rkv
