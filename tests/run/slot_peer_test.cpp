// Peers over slots that lie or break: a worker and a client take what is left of the others, and end.
#include <catch2/catch.hpp>

#include "core/exchange/slots/slot_plan.hpp"
#include "core/exchange/verbs_client.hpp"
#include "core/exchange/verbs_server.hpp"
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
