// What a wait on completion queues promises: budget, deadline, stop, fairness, no wake-up lost.
#include <array>
#include <catch2/catch.hpp>
#include <vector>

#include "core/error.hpp"
#include "tests/port/link.hpp"

namespace rkv::test {
namespace {

using namespace std::chrono_literals;

struct Linked {
  explicit Linked(const PortPair& ports, const SideOptions& options = {}, Transport transport = Transport::rc)
      : server(ports.server, transport, options), client(ports.client, transport, options) {
    connect(ports, server, client);
  }
  Side server;
  Side client;
};

TEST_CASE("a spin ends when its scans are used up", "[wait]") {
  with_ports(Transport::rc, [](const PortPair& ports) {
    Linked link(ports);
    Completion completion;
    const SpinBudget one_scan{.scans = 1};
    CHECK(link.server.receives->spin({&completion, 1}, one_scan, never).wake == Wake::budget);
    CHECK(link.server.receives->spin({&completion, 1}, {.scans = 1000}, never).wake == Wake::budget);
    REQUIRE(link.client.post_send(0, 1) == 0);
    REQUIRE(take(How::block, *link.client.sends, ports.client.runtime->now() + 1ms).result.wake ==
            Wake::deadline);  // RC: no receive is posted yet
    REQUIRE(link.server.post_receive(0) == 0);
    REQUIRE(take(How::block, *link.client.sends).result.wake == Wake::completions);
    // What is there is found by one scan.
    CHECK(link.server.receives->spin({&completion, 1}, one_scan, never).wake == Wake::completions);
  });
}

TEST_CASE("a spin ends when its CPU time is used up, not before", "[wait]") {
  with_ports(Transport::rc, [](const PortPair& ports) {
    Linked link(ports);
    Completion completion;
    const Instant start = ports.server.runtime->now();
    CHECK(link.server.receives->spin({&completion, 1}, {.cpu_time = 300us}, never).wake == Wake::budget);
    CHECK(ports.server.runtime->now() - start >= 300us);
  });
}

TEST_CASE("a wait ends at its deadline, not before; one in the past is one look", "[wait]") {
  const How how = GENERATE(How::spin, How::block, How::await_event);
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Linked link(ports);
    Runtime& runtime = *ports.server.runtime;
    const Instant deadline = runtime.now() + 2ms;
    CHECK(take(how, *link.server.receives, deadline).result.wake == Wake::deadline);
    CHECK(runtime.now() >= deadline);
    REQUIRE(link.server.post_receive(0) == 0);
    REQUIRE(link.client.post_send(0, 1) == 0);
    REQUIRE(take(How::block, *link.client.sends).result.wake == Wake::completions);
    CHECK(take(how, *link.server.receives, deadline).result.wake == Wake::completions);
    CHECK(take(how, *link.server.receives, deadline).result.wake == Wake::deadline);
  });
}

TEST_CASE("a stop request ends a wait for completions, after what is there was taken", "[wait]") {
  const How how = GENERATE(How::spin, How::block, How::await_event);
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Linked link(ports);
    Runtime& runtime = *ports.server.runtime;
    Taken taken;
    const auto waiter = runtime.spawn({"waiter", {}}, [&] { taken = take(how, *link.server.receives); });
    runtime.sleep_until(runtime.now() + 1ms, *link.client.stop);
    link.server.stop->request();
    waiter->join();
    CHECK(taken.result.wake == Wake::stopped);
    REQUIRE(link.server.post_receive(0) == 0);
    REQUIRE(link.client.post_send(0, 1) == 0);
    REQUIRE(take(How::block, *link.client.sends).result.wake == Wake::completions);
    CHECK(take(how, *link.server.receives).result.wake == Wake::completions);
    CHECK(take(how, *link.server.receives).result.wake == Wake::stopped);
  });
}

TEST_CASE("as many completions as there is room for come at once, of one source", "[wait]") {
  const How how = GENERATE(How::spin, How::block, How::await_event);
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Linked link(ports);
    for (std::uint64_t i = 0; i < 10; ++i) {
      REQUIRE(link.server.post_receive(i) == 0);
      REQUIRE(link.client.post_send(i, 1) == 0);
    }
    for (int i = 0; i < 10; ++i) {
      REQUIRE(take(How::block, *link.client.sends).result.wake == Wake::completions);
    }
    std::array<Completion, 7> out;
    std::uint64_t next = 0;
    for (const std::uint32_t expected : {7U, 3U}) {
      const WaitResult result = wait(how, *link.server.receives, out, never);
      REQUIRE(result.count == expected);
      for (std::uint32_t i = 0; i < result.count; ++i) CHECK(out[i].id == next++);
    }
  });
}

TEST_CASE("awaiting events, what was left of the last time is taken without one", "[wait]") {
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Linked link(ports);
    std::array<Completion, 8> out;
    std::uint64_t next = 0;
    const auto send = [&](std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i) {
        REQUIRE(link.server.post_receive(i) == 0);
        REQUIRE(link.client.post_send(i, 1) == 0);
      }
      for (std::uint64_t i = 0; i < count; ++i) {
        REQUIRE(take(How::block, *link.client.sends).result.wake == Wake::completions);
      }
      next = 0;
    };
    const auto expect = [&](std::size_t room, std::uint32_t count) {
      REQUIRE(link.server.receives->await_event(std::span(out).first(room), never).count == count);
      for (std::uint32_t i = 0; i < count; ++i) CHECK(out[i].id == next++);
    };
    send(1);
    expect(8, 1);  // armed, and nothing left: from here on events
    send(6);       // with one event in all
    expect(2, 2);
    expect(2, 2);
    expect(8, 2);
    send(3);
    expect(8, 3);
    send(2);
    expect(2, 2);  // whether something is left is not known
    send(1);
    expect(1, 1);
    const Instant soon = ports.server.runtime->now() + 1ms;
    CHECK(link.server.receives->await_event(out, soon).wake == Wake::deadline);
    send(1);
    expect(8, 1);
    // What another way of waiting took leaves its event behind.
    send(2);
    CHECK(take(How::spin, *link.server.receives).completion.id == 0);
    next = 1;
    expect(8, 1);
    send(1);
    expect(8, 1);
  });
}

TEST_CASE("sources take turns", "[wait]") {
  const How how = GENERATE(How::spin, How::block, How::await_event);
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Linked first(ports);
    Linked second(ports);
    const std::array<CompletionQueue*, 2> sources{first.server.receive_queue.get(),
                                                  second.server.receive_queue.get()};
    const auto both = ports.server.wait_sets->make_wait_set({sources, {}}, *first.server.stop);
    for (Linked* link : {&first, &second}) {
      for (std::uint64_t i = 0; i < 3; ++i) {
        REQUIRE(link->server.post_receive(i) == 0);
        REQUIRE(link->client.post_send(i, 1) == 0);
        REQUIRE(take(How::block, *link->client.sends).result.wake == Wake::completions);
      }
    }
    for (int i = 0; i < 3; ++i) {
      CHECK(take(how, *both).result.source == 0);
      CHECK(take(how, *both).result.source == 1);
    }
  });
}

TEST_CASE("blocking on queues that cannot block is an error", "[wait]") {
  with_ports(Transport::rc, [](const PortPair& ports) {
    Linked link(ports, {.blockable = false});
    CHECK_THROWS_WITH(take(How::block, *link.server.receives), Catch::Contains("blockable"));
    CHECK(take(How::spin, *link.server.receives, ports.server.runtime->now()).result.wake == Wake::deadline);
  });
}

// Ping-pong: each side goes to sleep just as the other's message may come. A lost wake-up is a hang.
TEST_CASE("no wake-up is lost between look and sleep", "[wait]") {
  const Transport transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  const How how = GENERATE(How::block, How::await_event);
  with_ports(transport, [&](const PortPair& ports) {
    constexpr int rounds = 1000;  // of each of the three transports and two ways
    Linked link(ports, {}, transport);
    const auto take_one = [how](WaitSet& set) {
      std::array<Completion, 2> out;  // room for one more than there are: no look before the event
      const WaitResult result = wait(how, set, out, never);
      return Taken{.result = result, .completion = out[0]};
    };
    for (std::uint64_t i = 0; i < 4; ++i) {
      REQUIRE(link.server.post_receive(i) == 0);
      REQUIRE(link.client.post_receive(i) == 0);
    }
    const auto send = [&](Side& side) {
      return side.post_send(8, 1) == 0 && take_one(*side.sends).completion.status == CompletionStatus::ok;
    };
    const auto receive = [&](Side& side) {
      const Taken taken = take_one(*side.receives);
      return taken.result.count == 1 && taken.completion.status == CompletionStatus::ok &&
             side.post_receive(taken.completion.id) == 0;
    };
    int served = 0;
    const auto server = ports.server.runtime->spawn({"server", {}}, [&] {
      while (served < rounds && receive(link.server) && send(link.server)) ++served;
    });
    const StopAtExit stop(*link.server.stop);
    int asked = 0;
    while (asked < rounds && send(link.client) && receive(link.client)) ++asked;
    REQUIRE(asked == rounds);
    server->join();
    CHECK(served == rounds);
  });
}

// The same for queues on which nobody slept before: arming them for the first time is part of the race.
TEST_CASE("no wake-up is lost when a queue is armed for the first time", "[wait]") {
  with_ports(Transport::uc, [&](const PortPair& ports) {
    struct FreshLink {
      explicit FreshLink(const PortPair& pair)
          : queue(pair.server.device->make_completion_queue(4, true)),
            server(pair.server, Transport::uc,
                   {.depth = 1, .blockable = false, .shared_receives = queue.get()}),
            client(pair.client, Transport::uc, {.depth = 1, .blockable = false}) {
        connect(pair, server, client);
        const std::array<CompletionQueue*, 1> source{queue.get()};
        requests = pair.server.wait_sets->make_wait_set({source, {}}, *server.stop);
      }
      std::unique_ptr<CompletionQueue> queue;
      Side server;
      Side client;
      std::unique_ptr<WaitSet> requests;
    };
    Side silent(ports.server, Transport::uc, {});
    for (int batch = 0; batch < 10; ++batch) {
      std::vector<std::unique_ptr<FreshLink>> links;
      for (int i = 0; i < 100; ++i) {
        links.push_back(std::make_unique<FreshLink>(ports));
        REQUIRE(links.back()->server.post_receive(0) == 0);
        REQUIRE(links.back()->client.post_receive(0) == 0);
      }
      std::size_t served = 0;
      const auto server = ports.server.runtime->spawn({"server", {}}, [&] {
        for (const auto& link : links) {
          // Scans of a silent queue: a little later each time, to meet the request at every step of block().
          Completion none;
          silent.receives->spin({&none, 1}, {.scans = 1 + served % 25}, never);
          if (take(How::block, *link->requests).result.count != 1 || link->server.post_send(1, 1) != 0)
            return;
          ++served;
        }
      });
      for (const auto& link : links) {
        if (link->client.post_send(1, 1) != 0) break;
        if (take(How::spin, *link->client.receives).result.count != 1) break;
      }
      for (const auto& link : links) link->server.stop->request();
      server->join();
      CHECK(served == links.size());
    }
  });
}

}  // namespace
}  // namespace rkv::test
