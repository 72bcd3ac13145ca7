// Peers over slots that lie or break: a worker and a client take what is left of the others, and end.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "core/error.hpp"
#include "core/exchange/slots/direct_gets.hpp"
#include "core/exchange/slots/slot_plan.hpp"
#include "core/exchange/verbs_client.hpp"
#include "core/exchange/verbs_server.hpp"
#include "core/store/item_pointer.hpp"
#include "tests/port/one_sided.hpp"
#include "tests/run/local_point.hpp"

using namespace rkv;
using namespace rkv::test;
using namespace std::chrono_literals;

namespace {

Scenario slots_over(Transport transport, Exchange exchange = Exchange::write_write) {
  Scenario scenario = checked_scenario(transport, CompletionMode::busy, 100);
  scenario.exchange = exchange;
  return scenario;
}

// WRITEs so many bytes with immediate.
void tell(Side& from, const RemoteMemory& to, std::uint32_t bytes, std::uint32_t immediate) {
  SendRequest request = one_sided(SendOperation::write_with_immediate, from, 0, bytes, to);
  request.immediate = immediate;
  REQUIRE(from.pair->post_send(request) == 0);
  REQUIRE(take(How::block, *from.sends).completion.status == CompletionStatus::ok);
}

// WRITEs a frame of so many message bytes.
void write_frame(Side& from, const RemoteMemory& to, std::uint32_t message_bytes, FrameCheck check) {
  const std::uint32_t bytes = seal_frame(from.payload(0), 1, message_bytes, check);
  REQUIRE(from.pair->post_send(one_sided(SendOperation::write, from, 0, bytes, to)) == 0);
}

}  // namespace

TEST_CASE("a worker rejects a frame that is longer than any message, and can be stopped", "[slots]") {
  const auto transport = GENERATE(Transport::rc, Transport::uc);
  const Scenario scenario = slots_over(transport);
  const SlotPlan plan(scenario);
  const std::uint32_t longest = plan.request_slot_bytes - frame_bytes(0);
  REQUIRE(longest > largest_request_bytes(scenario.message));
  with_ports(transport, [&](const PortPair& ports) {
    const auto stop = ports.server.runtime->make_stop_flag();
    const auto hub = make_verbs_hub(ports.server, scenario, 1, 1);
    const auto worker = hub->make_worker(0, *stop);
    Side peer(ports.client, transport, {.one_sided = true});
    hub->connect(0, peer.pair->endpoint());
    peer.pair->connect(hub->endpoint(0));
    write_frame(peer, hub->endpoint(0).requests, longest, plan.request_check);
    std::vector<IncomingRequest> requests(4);
    CHECK(worker->receive(requests).count == 0);
    CHECK(worker->rejected() == 1);
    stop->request();
    CHECK(worker->receive(requests).stopped);
  });
}

TEST_CASE("a client drops a frame that is longer than any response, and its time comes", "[slots]") {
  const auto transport = GENERATE(Transport::rc, Transport::uc);
  const Scenario scenario = slots_over(transport);
  const SlotPlan plan(scenario);
  const std::uint32_t longest = plan.response_slot_bytes - frame_bytes(0);
  REQUIRE(longest > largest_response_bytes(scenario.message));
  with_ports(transport, [&](const PortPair& ports) {
    const auto stop = ports.client.runtime->make_stop_flag();
    const auto client = make_verbs_client(ports.client, scenario, *stop);
    Side peer(ports.server, transport, {.one_sided = true});
    peer.pair->connect(client->endpoint());
    client->connect(peer.pair->endpoint());
    write_frame(peer, client->endpoint().responses, longest, plan.response_check);
    std::vector<ResponseView> responses(4);
    const Instant soon = ports.client.runtime->now() + 10ms;
    CHECK(client->receive(responses, soon).outcome == ReceiveOutcome::deadline);
    CHECK(client->malformed() == 1);
  });
}

TEST_CASE("a peer with another number of queue pairs is not connected to", "[slots]") {
  Scenario scenario = slots_over(Transport::rc);
  scenario.load.window = 2;
  scenario.queue_pair.per_client = 2;
  with_ports(Transport::rc, [&](const PortPair& ports) {
    const auto stop = ports.client.runtime->make_stop_flag();
    const auto client = make_verbs_client(ports.client, scenario, *stop);
    const auto hub = make_verbs_hub(ports.server, scenario, 1, 1);
    Endpoint one = client->endpoint();
    REQUIRE(one.more.size() == 1);
    one.more.clear();
    CHECK_THROWS_AS(hub->connect(0, one), Error);
    Endpoint three = hub->endpoint(0);
    three.more.push_back(three.more.front());
    CHECK_THROWS_AS(client->connect(three), Error);
  });
}

TEST_CASE("a client over RC learns that its WRITE was refused", "[slots]") {
  const auto exchange = GENERATE(Exchange::write_write, Exchange::write_read);
  const Scenario scenario = slots_over(Transport::rc, exchange);
  with_ports(Transport::rc, [&](const PortPair& ports) {
    const auto stop = ports.client.runtime->make_stop_flag();
    const auto client = make_verbs_client(ports.client, scenario, *stop);
    Side peer(ports.server, Transport::rc, {.one_sided = true});
    peer.pair->connect(client->endpoint());
    Endpoint wrong = peer.pair->endpoint();
    wrong.requests = {.address = peer.region->remote().address, .key = peer.region->remote().key ^ 1U};
    client->connect(wrong);
    REQUIRE(client->send(0, 32));
    std::vector<ResponseView> responses(4);
    const Instant patience = ports.client.runtime->now() + 10s;
    CHECK(client->receive(responses, patience).outcome == ReceiveOutcome::broken);
    CHECK_FALSE(client->broken_reason().empty());
  });
}

namespace {

// A client of a store of items that has asked where its key's item lies, and its server, which may say
// anything.
class Asked {
 public:
  explicit Asked(const PortPair& ports)
      : ports_(ports),
        stop_(ports.client.runtime->make_stop_flag()),
        peer_(ports.server, Transport::rc, {.one_sided = true}) {
    scenario_.store.kind = StoreOptions::Kind::items;
    client_ = make_verbs_client(ports.client, scenario_, *stop_);
    peer_.pair->connect(client_->endpoint());
    Endpoint server = peer_.pair->endpoint();
    server.requests = remote(peer_, 1);
    server.items = remote(peer_, 2);
    client_->connect(server);
    const std::uint32_t bytes = format_.write_request(client_->request_buffer(0), id_, Method::get,
                                                      std::as_bytes(std::span("key", 3)), {});
    REQUIRE(client_->send(0, bytes));
  }

  // What the client makes of it.
  Received answer(const RequestId& id, ResponseCode code, std::span<const std::byte> value) {
    const std::span<std::byte> frame = peer_.payload(0);
    const std::span<std::byte> message = frame.subspan(frame_header_bytes);
    std::ranges::copy(value, format_.response_value(message).begin());
    const std::uint32_t bytes =
        format_.write_response(message, id, code, static_cast<std::uint32_t>(value.size()));
    write_frame(peer_, client_->endpoint().responses, bytes, SlotPlan(scenario_).response_check);
    return client_->receive(responses_, ports_.client.runtime->now() + 10ms);
  }

  [[nodiscard]] const RequestId& id() const { return id_; }
  [[nodiscard]] const ResponseView& response() const { return responses_[0]; }
  [[nodiscard]] VerbsClient& client() { return *client_; }

 private:
  const PortPair& ports_;
  Scenario scenario_ = slots_over(Transport::rc);
  const MessageFormat format_{scenario_.message};
  const RequestId id_{.client = 0, .slot = 0, .sequence = 5};
  std::unique_ptr<StopFlag> stop_;
  Side peer_;
  std::unique_ptr<VerbsClient> client_;
  std::array<ResponseView, 4> responses_;
};

std::vector<std::byte> pointer_text(const ItemPointer& pointer) {
  std::vector<std::byte> text(item_pointer_bytes);
  write_item_pointer(text, pointer);
  return text;
}

}  // namespace

TEST_CASE("a client that is told nonsense of where an item lies READs nothing", "[slots]") {
  const auto value =
      GENERATE(std::vector<std::byte>{}, std::vector<std::byte>(item_pointer_bytes - 1, std::byte{1}),
               std::vector<std::byte>(item_pointer_bytes + 1, std::byte{1}), pointer_text({}),
               pointer_text({.offset = 0, .word = frame_word(1, 200)}),
               pointer_text({.offset = 0, .word = ~FrameWord{0}}));
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Asked asked(ports);
    const Received received = asked.answer(asked.id(), ResponseCode::ok, value);
    REQUIRE(received.outcome == ReceiveOutcome::responses);
    REQUIRE(received.count == 1);
    CHECK(asked.response().code == ResponseCode::unknown_error);
    CHECK(asked.response().sequence == asked.id().sequence);
    CHECK(asked.response().value.empty());
    CHECK(asked.client().direct_gets() == DirectGetCounts{});
  });
}

TEST_CASE("a client that is sent behind its server's memory ends, as its READ was refused", "[slots]") {
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Asked asked(ports);
    const auto far = pointer_text({.offset = 1U << 31, .word = frame_word(1, 40)});
    CHECK(asked.answer(asked.id(), ResponseCode::ok, far).outcome == ReceiveOutcome::broken);
    CHECK_FALSE(asked.client().broken_reason().empty());
  });
}

TEST_CASE("a client asks anew where it READs no item, and ends by its deadline", "[slots]") {
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Asked asked(ports);
    const auto nothing = pointer_text({.offset = 0, .word = frame_word(1, 40)});
    CHECK(asked.answer(asked.id(), ResponseCode::ok, nothing).outcome == ReceiveOutcome::deadline);
    CHECK(asked.client().direct_gets() == DirectGetCounts{.remembered = 0, .asked = 1, .stale = 1});
  });
}

TEST_CASE("an answer to another request is not taken for a pointer", "[slots]") {
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Asked asked(ports);
    const auto pointer = pointer_text({.offset = 0, .word = frame_word(1, 40)});
    const RequestId other{.client = 0, .slot = 0, .sequence = 4};
    CHECK(asked.answer(other, ResponseCode::ok, pointer).outcome == ReceiveOutcome::responses);
    CHECK(asked.response().sequence == 4);
    CHECK(asked.client().direct_gets() == DirectGetCounts{});
  });
}

TEST_CASE("what comes while an item is READ is nobody's answer", "[slots]") {
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Scenario scenario = slots_over(Transport::rc);
    scenario.store.kind = StoreOptions::Kind::items;
    const MessageFormat format(scenario.message);
    DirectGets gets(ports.client, scenario);
    std::vector<std::byte> request(format.largest_request_bytes());
    const RequestId id{.client = 0, .slot = 0, .sequence = 5};
    const std::uint32_t bytes =
        format.write_request(request, id, Method::get, std::as_bytes(std::span("key", 3)), {});
    REQUIRE_FALSE(gets.begin(0, std::span(request).first(bytes)));
    const auto pointer = pointer_text({.offset = 0, .word = frame_word(1, 40)});
    ResponseView response{.slot = 0, .sequence = 5, .code = ResponseCode::ok, .value = pointer};
    CHECK(gets.meaning(response) == DirectGets::Meaning::pointer);
    CHECK(gets.meaning(response) == DirectGets::Meaning::nothing);
    gets.ended(0);
    CHECK_FALSE(gets.take_ended().response);  // nothing was READ
    CHECK(gets.meaning(response) == DirectGets::Meaning::pointer);
    CHECK(gets.counts() == DirectGetCounts{.remembered = 0, .asked = 2, .stale = 1});
  });
}

TEST_CASE("that there is no such key, the client hears from its server", "[slots]") {
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Asked asked(ports);
    REQUIRE(asked.answer(asked.id(), ResponseCode::key_error, {}).count == 1);
    CHECK(asked.response().code == ResponseCode::key_error);
    CHECK(asked.client().direct_gets() == DirectGetCounts{});
  });
}

namespace {

// A worker of two clients that tell it of their requests, or so they say.
class Told {
 public:
  Told(const PortPair& ports, Transport transport)
      : scenario_(slots_over(transport)),
        stop_(ports.server.runtime->make_stop_flag()),
        peers_{Side(ports.client, transport, {.one_sided = true}),
               Side(ports.client, transport, {.one_sided = true})} {
    scenario_.slots.immediate = true;
    scenario_.load.window = 2;
    scenario_.completion.mode = CompletionMode::event;
    hub_ = make_verbs_hub(ports.server, scenario_, 2, 1);
    worker_ = hub_->make_worker(0, *stop_);
    for (std::uint32_t client = 0; client < 2; ++client) {
      hub_->connect(client, peer(client).pair->endpoint());
      peer(client).pair->connect(hub_->endpoint(client));
    }
  }

  // Its client's, and the worker's slot for it.
  [[nodiscard]] Side& peer(std::uint32_t client) { return peers_[client]; }
  [[nodiscard]] RemoteMemory slot(std::uint32_t client, std::uint32_t number) const {
    return hub_->endpoint(client).requests.behind(std::uint64_t{number} *
                                                  SlotPlan(scenario_).request_slot_bytes);
  }
  // Makes a frame of a PING, which this client's slot is to have sent; its bytes.
  [[nodiscard]] std::uint32_t ping_in(std::span<std::byte> place, std::uint32_t client, std::uint16_t slot) {
    const MessageFormat format(scenario_.message);
    const std::uint32_t bytes =
        format.write_request(place.subspan(frame_header_bytes),
                             {.client = client, .slot = slot, .sequence = 1}, Method::ping, {}, {});
    return seal_frame(place, ++frames_, bytes, SlotPlan(scenario_).request_check);
  }
  // What comes of the next completion.
  [[nodiscard]] std::uint32_t requests() {
    const Incoming incoming = worker_->receive(requests_);
    REQUIRE_FALSE(incoming.stopped);
    return incoming.count;
  }
  [[nodiscard]] const IncomingRequest& request() const { return requests_[0]; }
  [[nodiscard]] ServerExchange& worker() { return *worker_; }

  // The worker serves that client still.
  void require_served(std::uint32_t client) {
    tell(peer(client), slot(client, 1), ping_in(peer(client).payload(0), client, 1), 1);
    REQUIRE(requests() == 1);
    CHECK(request().session == client);
    CHECK(request().slot == 1);
    CHECK(request().request.method == Method::ping);
  }

 private:
  Scenario scenario_;
  std::unique_ptr<StopFlag> stop_;
  std::array<Side, 2> peers_;
  std::unique_ptr<VerbsHub> hub_;
  std::unique_ptr<ServerExchange> worker_;
  std::array<IncomingRequest, 4> requests_;
  std::uint64_t frames_ = 0;
};

}  // namespace

TEST_CASE("an immediate that names no slot of its client's is rejected, and the next one taken",
          "[slots][immediate]") {
  const auto transport = GENERATE(Transport::rc, Transport::uc);
  // Client 1's slots lie behind client 0's; those of nobody behind them.
  const auto immediate = GENERATE(2U, 3U, 4U, 0x8000'0000U, ~0U);
  with_ports(transport, [&](const PortPair& ports) {
    Told told(ports, transport);
    // More often than there are receives.
    for (std::uint64_t i = 1; i <= 20; ++i) {
      tell(told.peer(0), told.slot(1, 0), told.ping_in(told.peer(0).payload(0), 1, 0), immediate);
      CHECK(told.requests() == 0);
      CHECK(told.worker().rejected() == i);
    }
    told.require_served(0);
    told.require_served(1);
    CHECK(told.worker().broken_sessions() == 0);
  });
}

TEST_CASE("a client cannot have another's request taken for its own, nor its own for another's",
          "[slots][immediate]") {
  const auto transport = GENERATE(Transport::rc, Transport::uc);
  with_ports(transport, [&](const PortPair& ports) {
    Told told(ports, transport);
    // In its own slot; then in its other one, which its message does not say.
    tell(told.peer(0), told.slot(0, 0), told.ping_in(told.peer(0).payload(0), 1, 0), 0);
    CHECK(told.requests() == 0);
    CHECK(told.worker().rejected() == 1);
    tell(told.peer(0), told.slot(0, 1), told.ping_in(told.peer(0).payload(0), 0, 0), 1);
    CHECK(told.requests() == 0);
    CHECK(told.worker().rejected() == 2);
    told.require_served(0);
    told.require_served(1);
  });
}

TEST_CASE("a worker that is told of a slot without news finds nothing, however often", "[slots][immediate]") {
  const auto transport = GENERATE(Transport::rc, Transport::uc);
  with_ports(transport, [&](const PortPair& ports) {
    Told told(ports, transport);
    told.require_served(0);
    for (std::uint32_t i = 0; i < 20; ++i) {
      tell(told.peer(0), told.slot(0, 1), 0, i % 2);  // never written; taken before
      CHECK(told.requests() == 0);
    }
    // Torn: its last word does not come.
    tell(told.peer(0), told.slot(0, 0), told.ping_in(told.peer(0).payload(0), 0, 0) - 8, 0);
    CHECK(told.requests() == 0);
    CHECK(told.worker().rejected() == 0);
    told.require_served(0);
  });
}

TEST_CASE("a SEND to a worker that is told of WRITEs is nobody's request", "[slots][immediate]") {
  const std::uint32_t bytes = GENERATE(0U, 8U);
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Told told(ports, Transport::rc);
    REQUIRE(told.peer(0).post_send(0, bytes) == 0);
    CHECK(told.requests() == 0);
    // Without bytes it fits the receive; with some the connection fails.
    CHECK(told.worker().rejected() == (bytes == 0 ? 1 : 0));
    CHECK(told.worker().broken_sessions() == (bytes == 0 ? 0 : 1));
    if (bytes == 0) return told.require_served(0);
    // Its receives are flushed; the other client is served on.
    for (std::uint32_t i = 1; i < Scenario().queue_pair.receive_depth; ++i) CHECK(told.requests() == 0);
    told.require_served(1);
    CHECK(told.worker().broken_sessions() == 1);
  });
}

TEST_CASE("a client that is told nonsense of its slots waits on, and its time comes", "[slots][immediate]") {
  const auto transport = GENERATE(Transport::rc, Transport::uc);
  Scenario scenario = slots_over(transport);
  scenario.slots.immediate = true;
  scenario.load.window = 2;
  scenario.completion.mode = CompletionMode::event;
  with_ports(transport, [&](const PortPair& ports) {
    const auto stop = ports.client.runtime->make_stop_flag();
    const auto client = make_verbs_client(ports.client, scenario, *stop);
    Side peer(ports.server, transport, {.one_sided = true});
    peer.pair->connect(client->endpoint());
    client->connect(peer.pair->endpoint());
    const RemoteMemory responses = client->endpoint().responses;
    std::vector<ResponseView> taken(4);
    const auto receive = [&] { return client->receive(taken, ports.client.runtime->now() + 2ms); };
    for (std::uint64_t i = 1; i <= 20; ++i) {
      tell(peer, responses, 0, i % 2 == 0 ? 2 : ~0U);
      CHECK(receive().outcome == ReceiveOutcome::deadline);
      CHECK(client->malformed() == i);
    }
    tell(peer, responses, 0, 1);  // nothing is there
    CHECK(receive().outcome == ReceiveOutcome::deadline);
    CHECK(client->malformed() == 20);
    // A response to slot 1, in slot 0; then where it belongs.
    const MessageFormat format(scenario.message);
    const auto answer = [&](std::uint32_t slot) {
      const std::span<std::byte> frame = peer.payload(0);
      const std::uint32_t bytes = format.write_response(
          frame.subspan(frame_header_bytes), {.client = 0, .slot = 1, .sequence = 5}, ResponseCode::ok, 0);
      const SlotPlan plan(scenario);
      tell(peer, responses.behind(std::uint64_t{slot} * plan.response_slot_bytes),
           seal_frame(frame, 1, bytes, plan.response_check), slot);
      return receive();
    };
    CHECK(answer(0).outcome == ReceiveOutcome::deadline);
    CHECK(client->malformed() == 21);
    const Received received = answer(1);
    REQUIRE(received.outcome == ReceiveOutcome::responses);
    CHECK(received.count == 1);
    CHECK(taken[0].slot == 1);
    CHECK(taken[0].sequence == 5);
  });
}
