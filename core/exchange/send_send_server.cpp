#include "core/exchange/send_send_server.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/exchange/connections.hpp"
#include "core/exchange/layout.hpp"
#include "core/exchange/wait_set_of.hpp"
#include "core/scenario/server_queues.hpp"

namespace rkv {
namespace {

// Scans of a shared completion queue before a worker looks again whether another took its completion for it.
constexpr std::uint64_t scans_between_looks = 64;

}  // namespace

SendSendHub::SendSendHub(const Port& port, const Scenario& scenario, std::uint32_t clients,
                         std::uint32_t workers, OnLinkDown on_link_down)
    : port_(port),
      scenario_(scenario),
      format_(scenario.message),
      take_(Waiter::largest_take(scenario.completion)),
      together_(scenario.queue_pair.per_client),
      receive_stride_(
          round_to_line(receive_headroom_bytes(scenario.transport) + format_.largest_request_bytes())),
      response_stride_(round_to_line(format_.largest_response_bytes())),
      links_(queue_pair_count(scenario, clients)),
      sessions_(clients),
      on_link_down_(can_reconnect(scenario, clients, workers) ? std::move(on_link_down) : OnLinkDown()) {
  const QueuePairOptions& options = scenario_.queue_pair;
  const bool ud = scenario_.transport == Transport::ud;
  const auto queue_pairs = static_cast<std::uint32_t>(links_.size());
  const std::uint32_t groups = group_count(scenario_, clients);
  // A client has at most so many responses under way; on a queue pair of many clients a worker answers what
  // it took before it takes more.
  const std::uint32_t depth =
      lane_depth(ud ? take_ : window_a_queue_pair(scenario_), options.signal_interval);

  const auto shared =
      static_cast<std::uint32_t>(options.shared_receive_queue ? shared_receives(scenario_, clients) : 0);
  if (shared > 0) shared_receives_ = port_.device->make_shared_receive_queue(shared, options.max_sge);
  std::vector<std::uint32_t> receives(queue_pairs, shared > 0 ? 0 : options.receive_depth);
  if (ud && options.receive_scope == QueuePairOptions::ReceiveScope::per_client) {
    for (std::uint32_t i = 0; i < queue_pairs; ++i) receives[i] *= dealt(clients, queue_pairs, i);
  }

  groups_.resize(groups);
  std::vector<std::uint32_t> group_receives(groups, shared);
  for (std::uint32_t i = 0; i < queue_pairs; ++i) group_receives[group_of(i)] += receives[i];
  const bool blocks = Waiter::blocks(scenario_.completion);
  for (std::uint32_t g = 0; g < groups; ++g) {
    groups_[g].workers = dealt(workers, groups, g);
    const std::uint32_t group_sends =
        groups_[g].workers * dealt(queue_pairs / together_, groups, g) * together_ * depth;
    groups_[g].sends = port_.device->make_completion_queue(group_sends, blocks);
    groups_[g].receives = port_.device->make_completion_queue(group_receives[g], blocks);
  }

  std::uint32_t posted = shared;
  for (const std::uint32_t count : receives) posted += count;
  first_spare_ = posted;
  receive_buffers_ =
      port_.device->make_region(region_bytes(posted + std::uint64_t{workers} * take_, receive_stride_));
  std::uint32_t buffer = 0;
  for (std::uint32_t i = 0; i < queue_pairs; ++i) {
    const Group& group = groups_[group_of(i)];
    queue_pairs_.push_back(port_.device->make_queue_pair({.transport = scenario_.transport,
                                                          .send_completions = group.sends.get(),
                                                          .receive_completions = group.receives.get(),
                                                          .send_depth = group.workers * depth,
                                                          .receive_depth = receives[i],
                                                          .shared_receives = shared_receives_.get(),
                                                          .max_sge = options.max_sge,
                                                          .inline_bytes = options.inline_bytes}));
    if (reconnects()) links_[i].unposted.reserve(receives[i]);
    for (std::uint32_t n = 0; n < receives[i]; ++n, ++buffer) {
      if (!post_receive(i, buffer)) {
        throw Error("the server's receives could not be posted on queue pair " + std::to_string(i));
      }
    }
    if (shared > 0) by_number_.emplace_back(queue_pairs_[i]->endpoint().queue_pair, i);
  }
  std::sort(by_number_.begin(), by_number_.end());
  for (; buffer < posted; ++buffer) {
    if (!post_receive(0, buffer)) throw Error("the server's shared receives could not be posted");
  }

  lanes_a_worker_ = dealt(queue_pairs / together_, groups, 0) * together_;
  for (std::uint32_t w = 0; w < workers; ++w) {
    for (std::uint32_t i = 0; i < lanes_a_worker_; ++i) {
      auto& lane = lanes_.emplace_back(std::make_unique<Lane>(depth, options));
      lane->queue_pair = (w % groups + i / together_ * groups) * together_ + i % together_;
      lane->buffers_at = (lanes_.size() - 1) * depth * response_stride_;
    }
  }
  response_buffers_ = port_.device->make_region(lanes_.size() * depth * response_stride_);
  for (std::uint32_t c = 0; c < clients; ++c) sessions_[c].queue_pair = c * together_ % queue_pairs;
  if (scenario_.server.ud_receive_lock) receive_lock_ = port_.runtime->make_mutex();
}

Endpoint SendSendHub::endpoint(std::uint32_t client) const {
  return endpoint_of(queue_pairs_of(client));
}

void SendSendHub::connect(std::uint32_t client, const Endpoint& peer) {
  Session& session = sessions_[client];
  session.peer = peer;
  if (scenario_.transport != Transport::ud) {
    connect_all(queue_pairs_of(client), peer);
    return;
  }
  session.address = port_.device->make_address_handle(peer);
  // The first client of a shared queue pair brings it up.
  if (client < queue_pairs_.size()) queue_pairs_[client]->connect(peer);
}

ServerLinks::State SendSendHub::state(std::uint32_t client) const {
  switch (links_[sessions_[client].queue_pair].health.load(std::memory_order_acquire)) {
    case Health::down:
      return State::down;
    case Health::broken:
      return State::broken;
    default:
      return State::connected;
  }
}

void SendSendHub::fail(std::uint32_t client) {
  const std::uint32_t queue_pair = sessions_[client].queue_pair;
  if (links_[queue_pair].health.load(std::memory_order_acquire) == Health::connected) {
    queue_pairs_[queue_pair]->fail();
  }
}

Endpoint SendSendHub::connect_anew(std::uint32_t client, const Endpoint& peer) {
  Session& session = sessions_[client];
  QueuePair& queue_pair = *queue_pairs_[session.queue_pair];
  Link& link = links_[session.queue_pair];
  queue_pair.reset();
  for (const std::uint32_t buffer : link.unposted) {
    if (!post_receive(session.queue_pair, buffer)) {
      throw Error("the server's receives could not be posted anew for client " + std::to_string(client));
    }
  }
  link.unposted.clear();
  link.health.store(Health::connected, std::memory_order_release);
  session.peer = peer;
  queue_pair.connect(peer);  // the peer sends when it knows of it
  return queue_pair.endpoint();
}

ReceiveRequest SendSendHub::receive_into(std::uint32_t queue_pair, std::uint32_t buffer) const {
  return {.id = request_id(queue_pair, buffer),
          .region = receive_buffers_.get(),
          .offset = buffer * receive_stride_,
          .length = receive_headroom_bytes(scenario_.transport) + format_.largest_request_bytes()};
}

bool SendSendHub::post_receive(std::uint32_t queue_pair, std::uint32_t buffer) {
  return receive_queue(queue_pair).post_receive(receive_into(queue_pair, buffer)) == 0;
}

std::uint32_t SendSendHub::queue_pair_of(const Completion& completion) const {
  if (!shares_receives()) return id_owner(completion.id);
  const auto found =
      std::lower_bound(by_number_.begin(), by_number_.end(), std::pair(completion.queue_pair, 0U));
  return found->second;
}

class SendSendWorker final : public ServerExchange {
 public:
  SendSendWorker(SendSendHub& hub, std::uint32_t worker, const StopFlag& stop)
      : hub_(hub),
        group_(hub.groups_[worker % hub.groups_.size()]),
        worker_(worker),
        send_set_(wait_set_of(hub.port_, *group_.sends, stop)),
        receive_set_(wait_set_of(hub.port_, *group_.receives, stop)),
        send_waiter_(*send_set_, hub.scenario_.completion),
        receive_waiter_(*receive_set_, hub.scenario_.completion),
        after_drain_(hub.scenario_.queue_pair.receives_after_drain),
        shared_receives_(hub.scenario_.queue_pair.receive_batch),
        completions_(hub.take_),
        sends_taken_(16) {
    for (std::uint32_t i = 0; i < hub.take_; ++i) spare_.push_back(hub.first_spare_ + worker * hub.take_ + i);
    // A queue pair that stays broken hands its buffers to the worker for good.
    spare_.reserve(hub.first_spare_ + hub.take_);
    // For each message one more, or as many as wait to be posted anew where that is refused.
    handed_out_.reserve(std::size_t{hub.take_} * (hub.scenario_.queue_pair.receive_batch + 1));
    if (after_drain_) used_up_.reserve(hub.first_spare_);
    flushed_.reserve(hub.links_.size());
    unposted_.reserve(hub.take_);
  }

  Incoming receive(std::span<IncomingRequest> out) override {
    for (const std::uint32_t queue_pair : unposted_) (void)post_responses(queue_pair);
    unposted_.clear();
    spare_.insert(spare_.end(), handed_out_.begin(), handed_out_.end());
    handed_out_.clear();
    while (!flushed_.empty()) {
      take_down(flushed_.back());
      flushed_.pop_back();
    }
    const std::size_t room = std::min(out.size(), completions_.size());
    const WaitResult result = wait(std::span(completions_).first(room));
    Incoming incoming{.stopped = result.wake == Wake::stopped};
    for (std::uint32_t i = 0; i < result.count; ++i) {
      if (accept(completions_[i], out[incoming.count])) ++incoming.count;
    }
    return incoming;
  }

  [[nodiscard]] std::span<std::byte> response_buffer(const IncomingRequest& request) override {
    const std::uint32_t queue_pair = hub_.sessions_[request.session].queue_pair + request.link;
    SendSendHub::Lane& lane = hub_.lane(worker_, queue_pair);
    if (lane.sends.full()) (void)post_responses(queue_pair);  // what is waited for may be among them
    while (lane.sends.full()) {
      // A worker that shares its queues may find that another has taken its completion: look, do not sleep.
      const WaitResult result =
          group_.workers == 1
              ? send_waiter_.wait(sends_taken_, never)
              : send_set_->spin(sends_taken_, SpinBudget{.scans = scans_between_looks}, never);
      take_sends(result);
      taken_ahead_ += result.count;
      if (result.wake == Wake::stopped) break;  // respond() then posts nothing
    }
    return hub_.response_buffers_->bytes().subspan(
        lane.buffers_at + std::size_t{lane.sends.next_buffer()} * hub_.response_stride_,
        hub_.response_stride_);
  }

  void respond(const IncomingRequest& request, std::uint32_t bytes) override {
    const SendSendHub::Session& to = hub_.sessions_[request.session];
    const std::uint32_t queue_pair = to.queue_pair + request.link;
    SendSendHub::Lane& lane = hub_.lane(worker_, queue_pair);
    if (lane.sends.full() || !connected(queue_pair)) return;
    const QueuePairOptions& options = hub_.scenario_.queue_pair;
    const std::size_t offset =
        lane.buffers_at + std::size_t{lane.sends.next_buffer()} * hub_.response_stride_;
    const SendLane::Slot next = lane.sends.next();
    lane.responses.add({.id = request_id(hub_.lane_index(worker_, queue_pair), next.number),
                        .region = hub_.response_buffers_.get(),
                        .offset = static_cast<std::uint32_t>(offset),
                        .length = bytes,
                        .signalled = next.signalled,
                        .inlined = bytes <= options.inline_bytes,
                        .destination = to.address.get()});
    if (!lane.responses.full()) {
      unposted_.push_back(queue_pair);
    } else if (post_responses(queue_pair) && next.signalled && options.await_send_completion) {
      // Any completion of the group will do: every worker takes as many as it caused, or another would wait
      // for one that never comes.
      if (taken_ahead_ > 0) {
        --taken_ahead_;
        return;
      }
      take_sends(send_waiter_.wait(std::span(sends_taken_).first(1), never));
    }
  }

  [[nodiscard]] std::uint32_t largest_take() const override { return hub_.take_; }
  [[nodiscard]] std::uint64_t rejected() const override { return rejected_; }
  [[nodiscard]] std::uint64_t broken_sessions() const override {
    if (!hub_.reconnects()) return broken_;
    // Those that were connected anew are not.
    std::uint64_t broken = 0;
    for (std::size_t i = worker_; i < hub_.links_.size(); i += hub_.groups_.size()) {
      if (!connected(i)) ++broken;  // who reconnects has one
    }
    return broken;
  }

 private:
  WaitResult wait(std::span<Completion> out) {
    if (after_drain_) {
      const WaitResult result = receive_waiter_.look(out);
      if (result.count > 0) return result;
      post_used_up();
    }
    return receive_waiter_.wait(out, never);
  }

  // Those over this queue pair that wait for others. False: refused.
  bool post_responses(std::uint32_t queue_pair) {
    if (hub_.lane(worker_, queue_pair).responses.post(*hub_.queue_pairs_[queue_pair])) return true;
    break_queue_pair(queue_pair, CompletionStatus::failed);
    return false;
  }

  void post_used_up() {
    for (std::size_t i = 0; i < used_up_.size(); ++i) {
      const auto [queue_pair, buffer] = used_up_[i];
      if (connected(queue_pair)) {
        if (hub_.post_receive(queue_pair, buffer)) continue;
        break_queue_pair(queue_pair, CompletionStatus::failed);
      }
      retire(queue_pair, buffer);
    }
    used_up_.clear();
  }

  // Sees to it that a receive for this completion is posted anew, and makes a request of its message.
  bool accept(const Completion& completion, IncomingRequest& request) {
    const std::uint32_t queue_pair = hub_.queue_pair_of(completion);
    std::uint32_t buffer = id_number(completion.id);
    if (completion.status != CompletionStatus::ok) {
      break_queue_pair(queue_pair, completion.status);
      if (hub_.shares_receives()) {
        post_anew(queue_pair, buffer);  // the other queue pairs go on with it
      } else {
        retire_waiting(queue_pair);
        retire(queue_pair, buffer);
      }
      return false;
    }
    const std::uint32_t headroom = receive_headroom_bytes(hub_.scenario_.transport);
    const auto message_in = [&](std::uint32_t at) {
      return hub_.receive_buffers_->bytes().subspan(std::size_t{at} * hub_.receive_stride_ + headroom,
                                                    completion.bytes);
    };
    if (hub_.receive_lock_) {
      // Troost's UD server takes the message out and posts the same receive again under one lock.
      const std::uint32_t spare = take_spare();
      hub_.receive_lock_->lock();
      std::memcpy(message_in(spare).data(), message_in(buffer).data(), completion.bytes);
      hub_.port_.runtime->charge({.bytes_copied = completion.bytes, .message_bytes_read = completion.bytes});
      if (!hub_.post_receive(queue_pair, buffer)) break_queue_pair(queue_pair, CompletionStatus::failed);
      hub_.receive_lock_->unlock();
      buffer = spare;
      handed_out_.push_back(buffer);
    } else if (after_drain_) {
      used_up_.emplace_back(queue_pair, buffer);
    } else {
      post_anew(queue_pair, take_spare());
      handed_out_.push_back(buffer);
    }
    request.error = hub_.format_.parse_request(message_in(buffer), request.request);
    if (request.error == ParseError::unreadable || !identify(completion, queue_pair, request)) {
      ++rejected_;
      return false;
    }
    return true;
  }

  [[nodiscard]] std::uint32_t take_spare() {
    const std::uint32_t spare = spare_.back();
    spare_.pop_back();
    return spare;
  }

  // Those that wait to be posted anew where this queue pair's are.
  [[nodiscard]] ReceiveChain& chain_of(std::uint32_t queue_pair) {
    return hub_.shares_receives() ? shared_receives_ : hub_.lane(worker_, queue_pair).receives;
  }

  void post_anew(std::uint32_t queue_pair, std::uint32_t buffer) {
    const ReceiveRequest receive = hub_.receive_into(queue_pair, buffer);
    if (chain_of(queue_pair).add(hub_.receive_queue(queue_pair), receive)) return;
    break_queue_pair(queue_pair, CompletionStatus::failed);
    retire_waiting(queue_pair);
  }

  // A message names its client itself; believe it only when it came from where that client is.
  [[nodiscard]] bool identify(const Completion& completion, std::uint32_t queue_pair,
                              IncomingRequest& request) const {
    request.session = request.request.id.client;
    if (request.session >= hub_.sessions_.size()) return false;
    const SendSendHub::Session& session = hub_.sessions_[request.session];
    request.link = queue_pair - session.queue_pair;  // some large number where it is another's
    if (request.link >= hub_.together_) return false;
    return hub_.scenario_.transport != Transport::ud ||
           session.peer.queue_pair == completion.source_queue_pair;
  }

  void take_sends(const WaitResult& result) {
    for (std::uint32_t i = 0; i < result.count; ++i) {
      const Completion& completion = sends_taken_[i];
      SendSendHub::Lane& lane = *hub_.lanes_[id_owner(completion.id)];
      if (completion.status != CompletionStatus::ok) break_queue_pair(lane.queue_pair, completion.status);
      lane.sends.completed(id_number(completion.id));
    }
  }

  [[nodiscard]] bool connected(std::size_t queue_pair) const {
    return hub_.links_[queue_pair].health.load(std::memory_order_relaxed) == SendSendHub::Health::connected;
  }

  // Of the same client's.
  [[nodiscard]] bool another_broke(std::uint32_t queue_pair) const {
    const std::uint32_t begin = queue_pair / hub_.together_ * hub_.together_;
    for (std::uint32_t i = begin; i < begin + hub_.together_; ++i) {
      if (i != queue_pair && !connected(i)) return true;
    }
    return false;
  }

  void break_queue_pair(std::uint32_t queue_pair, CompletionStatus why) {
    SendSendHub::Link& link = hub_.links_[queue_pair];
    auto before = SendSendHub::Health::connected;
    const bool first = link.health.compare_exchange_strong(before, SendSendHub::Health::failed);
    if (first && !another_broke(queue_pair)) ++broken_;
    if (!hub_.reconnects()) return;
    link.lost = (first || link.lost) && tells_of_loss(why);
    if (first) hub_.queue_pairs_[queue_pair]->fail();  // one that refused a request is not in error yet
  }

  // The receive of a queue pair that is not connected any more. What is posted is as many as ever until the
  // last ones are flushed.
  void retire(std::uint32_t queue_pair, std::uint32_t buffer) {
    if (!hub_.reconnects()) {
      handed_out_.push_back(buffer);
      return;
    }
    std::vector<std::uint32_t>& unposted = hub_.links_[queue_pair].unposted;
    unposted.push_back(buffer);
    if (unposted.size() == hub_.scenario_.queue_pair.receive_depth) flushed_.push_back(queue_pair);
  }

  // Those that are to be posted anew together with others that will not come.
  void retire_waiting(std::uint32_t queue_pair) {
    ReceiveChain& receives = chain_of(queue_pair);
    for (const ReceiveRequest& receive : receives.waiting()) retire(queue_pair, id_number(receive.id));
    receives.clear();
  }

  // All receives of it are flushed, and what came before is answered or will not be.
  void take_down(std::uint32_t queue_pair) {
    SendSendHub::Lane& lane = hub_.lane(worker_, queue_pair);
    bool emptied = take_until([&] { return !lane.sends.full(); });
    // Sends that went well and were not signalled say nothing. What is posted now is flushed behind them.
    emptied =
        emptied && hub_.queue_pairs_[queue_pair]->post_send(
                       {.id = request_id(hub_.lane_index(worker_, queue_pair), lane.sends.next().number),
                        .region = hub_.response_buffers_.get(),
                        .offset = static_cast<std::uint32_t>(lane.buffers_at),
                        .length = 1}) == 0;
    emptied = emptied && take_until([&] { return lane.sends.idle(); });
    SendSendHub::Link& link = hub_.links_[queue_pair];
    link.health.store(emptied && link.lost ? SendSendHub::Health::down : SendSendHub::Health::broken,
                      std::memory_order_release);
    hub_.on_link_down_();
  }

  // False: stopped.
  template <typename Done>
  bool take_until(const Done& done) {
    while (!done()) {
      const WaitResult result = send_waiter_.wait(sends_taken_, never);
      take_sends(result);
      if (result.wake == Wake::stopped) return false;
    }
    return true;
  }

  SendSendHub& hub_;
  SendSendHub::Group& group_;
  const std::uint32_t worker_;
  std::unique_ptr<WaitSet> send_set_;
  std::unique_ptr<WaitSet> receive_set_;
  Waiter send_waiter_;
  Waiter receive_waiter_;
  const bool after_drain_;
  ReceiveChain shared_receives_;  // where all queue pairs share them
  std::vector<Completion> completions_;
  std::vector<Completion> sends_taken_;
  std::vector<std::uint32_t> spare_;       // receive buffers that are not posted
  std::vector<std::uint32_t> handed_out_;  // those with requests that are being served
  std::vector<std::pair<std::uint32_t, std::uint32_t>>
      used_up_;                          // receives_after_drain: queue pair; receive buffer
  std::vector<std::uint32_t> flushed_;   // queue pairs to be taken down
  std::vector<std::uint32_t> unposted_;  // queue pairs with responses that wait for others, perhaps
  std::uint64_t taken_ahead_ = 0;        // send completions taken without having been awaited
  std::uint64_t rejected_ = 0;
  std::uint64_t broken_ = 0;
};

std::unique_ptr<ServerExchange> SendSendHub::make_worker(std::uint32_t worker, const StopFlag& stop) {
  return std::make_unique<SendSendWorker>(*this, worker, stop);
}

}  // namespace rkv
