// READs whose end their poster sees in memory: they are handed out like completions, once each.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "tests/port/one_sided.hpp"

namespace rkv::test {
namespace {

using namespace std::chrono_literals;

// One server and one client, whose send completion queue is polled only.
struct Watching {
  explicit Watching(const PortPair& ports, const SideOptions& client_options = {.blockable = false})
      : server(ports.server, Transport::rc, {.one_sided = true}),
        client(ports.client, Transport::rc, client_options) {
    connect(ports, server, client);
    std::ranges::fill(server.region->bytes(), std::byte{1});
  }
  // From the server's slot of the same number.
  int read(std::uint32_t slot) {
    client.payload(slot)[operation_bytes - 1] = std::byte{0};
    return client.pair->post_send(watched_read(client, slot, operation_bytes, remote(server, slot)));
  }
  int read_signalled(std::uint32_t slot) {
    return client.pair->post_send(
        one_sided(SendOperation::read, client, slot, operation_bytes, remote(server, slot)));
  }

  Side server;
  Side client;
};

TEST_CASE("a watched READ is handed out when its bytes are there", "[watched]") {
  with_ports(Transport::rc, [](const PortPair& ports) {
    Watching link(ports);
    REQUIRE(link.read(7) == 0);
    const Taken read = take(How::spin, *link.client.sends);
    REQUIRE(read.result.wake == Wake::completions);
    CHECK(read.result.count == 1);
    CHECK(read.completion.id == 7);
    CHECK(read.completion.status == CompletionStatus::ok);
    CHECK(read.completion.queue_pair == link.client.pair->endpoint().queue_pair);
    CHECK(std::ranges::equal(link.client.payload(7).first(operation_bytes),
                             link.server.payload(7).first(operation_bytes)));
    CHECK(nothing_comes(ports, *link.client.sends));
  });
}

TEST_CASE("watched READs are handed out once each, as many as there is room for", "[watched]") {
  with_ports(Transport::rc, [](const PortPair& ports) {
    Watching link(ports);
    constexpr std::uint32_t reads = 13;
    for (std::uint32_t slot = 0; slot < reads; ++slot) REQUIRE(link.read(slot) == 0);
    std::array<Completion, 3> out;
    for (std::uint64_t next = 0; next < reads;) {
      const WaitResult result = link.client.sends->spin(out, {}, never);
      REQUIRE(result.wake == Wake::completions);
      REQUIRE(result.count <= out.size());
      for (std::uint32_t i = 0; i < result.count; ++i) {
        CHECK(out[i].id == next++);
        CHECK(out[i].status == CompletionStatus::ok);
      }
    }
    CHECK(nothing_comes(ports, *link.client.sends));
  });
}

TEST_CASE("watched READs of several queue pairs come by one queue", "[watched]") {
  with_ports(Transport::rc, [](const PortPair& ports) {
    constexpr std::uint32_t pairs = 4;
    constexpr std::uint32_t reads = 5;
    const auto queue = ports.client.device->make_completion_queue(pairs * reads, false);
    std::vector<std::unique_ptr<Watching>> links;
    for (std::uint32_t i = 0; i < pairs; ++i) {
      const SideOptions options{.blockable = false, .shared_sends = queue.get()};
      links.push_back(std::make_unique<Watching>(ports, options));
    }
    const std::array<CompletionQueue*, 1> source{queue.get()};
    const auto set = ports.client.wait_sets->make_wait_set({source, {}}, *links[0]->client.stop);
    std::set<std::pair<std::uint32_t, std::uint64_t>> expected;
    for (std::uint32_t slot = 0; slot < reads; ++slot) {
      for (const auto& link : links) {
        REQUIRE(link->read(slot) == 0);
        expected.emplace(link->client.pair->endpoint().queue_pair, slot);
      }
    }
    while (!expected.empty()) {
      const Taken read = take(How::spin, *set);
      REQUIRE(read.completion.status == CompletionStatus::ok);
      REQUIRE(expected.erase({read.completion.queue_pair, read.completion.id}) == 1);
    }
    CHECK(nothing_comes(ports, *set));
  });
}

// More than the queues hold, so that places must have come back.
TEST_CASE("a later signalled request gives places back, and comes behind the watched ones before it",
          "[watched]") {
  const std::size_t room = GENERATE(1U, 3U, 16U);
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Watching link(ports, {.depth = 4, .blockable = false});
    std::vector<Completion> out(room);
    for (int round = 0; round < 20; ++round) {
      for (const std::uint32_t slot : {0U, 1U, 2U}) REQUIRE(link.read(slot) == 0);
      REQUIRE(link.read_signalled(3) == 0);
      for (std::uint64_t next = 0; next < 4;) {
        const WaitResult result = link.client.sends->spin(out, {}, never);
        REQUIRE(result.wake == Wake::completions);
        for (std::uint32_t i = 0; i < result.count; ++i) REQUIRE(out[i].id == next++);
      }
    }
  });
}

TEST_CASE("watched READs alone give no place in the send queue back", "[watched]") {
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Watching link(ports, {.depth = 4, .blockable = false});
    int refusal = 0;
    // A device may round the depth up, but not for ever.
    for (int i = 0; i < 4096 && refusal == 0; ++i) {
      refusal = link.read(0);
      if (refusal == 0) REQUIRE(take(How::spin, *link.client.sends).result.wake == Wake::completions);
    }
    CHECK(refusal == ENOMEM);
  });
}

TEST_CASE("watched READs of a queue pair that fails are handed out in error", "[watched]") {
  with_ports(Transport::rc, [](const PortPair& ports) {
    const auto queue = ports.client.device->make_completion_queue(32, false);
    const SideOptions options{.blockable = false, .shared_sends = queue.get()};
    Watching failing(ports, options);
    Watching other(ports, options);
    const std::array<CompletionQueue*, 1> source{queue.get()};
    const auto set = ports.client.wait_sets->make_wait_set({source, {}}, *failing.client.stop);
    RemoteMemory wrong = remote(failing.server, 0);
    wrong.key ^= 0x5a5a'5a5aU;
    REQUIRE(failing.client.pair->post_send(watched_read(failing.client, 0, operation_bytes, wrong)) == 0);
    for (const std::uint32_t slot : {1U, 2U}) REQUIRE(failing.read(slot) == 0);
    for (const std::uint64_t id : {0U, 1U, 2U}) {
      const Taken read = take(How::spin, *set);
      CHECK(read.completion.id == id);
      CHECK(read.completion.status == (id == 0 ? CompletionStatus::access : CompletionStatus::flushed));
      CHECK(read.completion.queue_pair == failing.client.pair->endpoint().queue_pair);
    }
    // Nothing waits for them any more, whatever is written there.
    std::ranges::fill(failing.client.region->bytes(), std::byte{1});
    REQUIRE(other.read(0) == 0);
    CHECK(take(How::spin, *set).completion.queue_pair == other.client.pair->endpoint().queue_pair);
    CHECK(nothing_comes(ports, *set));
  });
}

TEST_CASE("watched READs go with their queue pair", "[watched]") {
  with_ports(Transport::rc, [](const PortPair& ports) {
    const auto queue = ports.client.device->make_completion_queue(32, false);
    const SideOptions options{.blockable = false, .shared_sends = queue.get()};
    Watching going(ports, options);
    Watching other(ports, options);
    const std::array<CompletionQueue*, 1> source{queue.get()};
    const auto set = ports.client.wait_sets->make_wait_set({source, {}}, *other.client.stop);
    const RemoteMemory memory = remote(going.server, 0);
    going.server.pair.reset();  // it does not answer
    REQUIRE(going.client.pair->post_send(watched_read(going.client, 0, operation_bytes, memory)) == 0);
    going.client.pair.reset();
    going.client.payload(0)[operation_bytes - 1] = std::byte{1};
    REQUIRE(other.read(0) == 0);
    CHECK(take(How::spin, *set).completion.queue_pair == other.client.pair->endpoint().queue_pair);
    CHECK(nothing_comes(ports, *set));
  });
}

TEST_CASE("only what can be watched is", "[watched]") {
  with_ports(Transport::rc, [](const PortPair& ports) {
    const bool blockable = GENERATE(false, true);
    Watching link(ports, {.blockable = blockable});
    const auto post = [&](auto change) {
      SendRequest request = watched_read(link.client, 0, operation_bytes, remote(link.server, 0));
      change(request);
      return link.client.pair->post_send(request);
    };
    CHECK(post([](SendRequest& request) { request.signalled = true; }) == EINVAL);
    CHECK(post([](SendRequest& request) { request.length = 0; }) == EINVAL);
    CHECK(post([](SendRequest& request) { request.operation = SendOperation::write; }) == EINVAL);
    CHECK(post([](SendRequest& request) { request.operation = SendOperation::send; }) == EINVAL);
    // No event comes for one.
    CHECK(post([](SendRequest&) {}) == (blockable ? EINVAL : 0));
    if (!blockable) CHECK_THROWS_AS(take(How::block, *link.client.sends), Error);
  });
}

}  // namespace
}  // namespace rkv::test
