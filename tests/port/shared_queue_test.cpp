// Several threads that wait on one completion queue: each completion goes to one of them, and none is left
// lying while a thread sleeps.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/port/link.hpp"

namespace rkv::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t depth = 32;

// A server whose `receives` receives are posted, and a client connected to it.
struct Connected {
  Connected(const PortPair& ports, std::uint64_t receives)
      : server(ports.server, Transport::rc, {.depth = depth}),
        client(ports.client, Transport::rc, {.depth = depth}) {
    connect(ports, server, client);
    for (std::uint64_t i = 0; i < receives; ++i) REQUIRE(server.post_receive(i) == 0);
  }
  Side server;
  Side client;
};

// One of several threads' own, for the queue that they share.
std::unique_ptr<WaitSet> own_set(const PortPair& ports, const Side& server, const StopFlag& stop) {
  const std::array<CompletionQueue*, 1> source{server.receive_queue.get()};
  return ports.server.wait_sets->make_wait_set({source, {}}, stop);
}

// Takes messages one by one until it is stopped, and posts their receives again. How many there were.
std::size_t take_all(How how, const PortPair& ports, Side& server) {
  const auto set = own_set(ports, server, *server.stop);
  for (std::size_t taken = 0;; ++taken) {
    const Taken one = take(how, *set);
    if (one.result.wake != Wake::completions) return taken;
    if (server.post_receive(one.completion.id) != 0) return taken + 1;
  }
}

TEST_CASE("several blocked threads take each completion exactly once", "[shared_queue]") {
  const std::size_t room = GENERATE(1U, 3U);
  with_ports(Transport::rc, [&](const PortPair& ports) {
    constexpr std::size_t workers = 4;
    constexpr std::size_t messages = 4000;
    Connected sides(ports, depth);
    Side& server = sides.server;
    Side& client = sides.client;

    std::array<std::size_t, workers> taken{};
    std::array<bool, workers> failed{};
    std::vector<std::unique_ptr<Thread>> threads;
    const StopAtExit stop(*server.stop);
    for (std::size_t worker = 0; worker < workers; ++worker) {
      threads.push_back(ports.server.runtime->spawn({"worker", {}}, [&, worker] {
        const auto set = own_set(ports, server, *server.stop);
        std::vector<Completion> out(room);
        for (;;) {
          const WaitResult result = set->block(out, never);
          if (result.wake != Wake::completions) return;
          for (std::uint32_t i = 0; i < result.count; ++i) {
            failed[worker] |= out[i].status != CompletionStatus::ok || server.post_receive(out[i].id) != 0;
          }
          taken[worker] += result.count;
        }
      }));
    }
    // In bursts, so that one event stands for several completions.
    std::array<Completion, depth> sent;
    for (std::size_t done = 0; done < messages;) {
      const std::size_t burst = std::min<std::size_t>(1 + done % 7, messages - done);
      for (std::size_t i = 0; i < burst; ++i) REQUIRE(client.post_send(i, 1) == 0);
      for (std::size_t acknowledged = 0; acknowledged < burst;) {
        const WaitResult result = client.sends->block(sent, never);
        for (std::uint32_t i = 0; i < result.count; ++i) REQUIRE(sent[i].status == CompletionStatus::ok);
        acknowledged += result.count;
      }
      done += burst;
    }
    server.stop->request();  // workers take what is there first
    for (const auto& thread : threads) thread->join();
    CHECK(std::ranges::none_of(failed, [](bool any) { return any; }));
    std::size_t total = 0;
    for (const std::size_t count : taken) total += count;
    CHECK(total == messages);
  });
}

// The first thread to be woken takes one completion and never waits again. The others must go to the rest.
TEST_CASE("a taker that does not come back leaves nothing behind while others sleep", "[shared_queue]") {
  constexpr std::size_t workers = 4;
  with_ports(Transport::rc, [&](const PortPair& ports) {
    for (int round = 0; round < 50; ++round) {
      Connected sides(ports, workers);
      Side& server = sides.server;
      Side& client = sides.client;
      std::array<Taken, workers> taken;
      std::vector<std::unique_ptr<Thread>> threads;
      const StopAtExit stop(*server.stop);
      for (std::size_t worker = 0; worker < workers; ++worker) {
        threads.push_back(ports.server.runtime->spawn({"worker", {}}, [&, worker] {
          const auto set = own_set(ports, server, *server.stop);
          taken[worker] = take(How::block, *set);
        }));
      }
      // Sometimes all sleep when the messages come, sometimes some are still on their way there.
      if (round % 2 == 0) {
        ports.client.runtime->sleep_until(ports.client.runtime->now() + 500us, *client.stop);
      }
      for (std::uint64_t i = 0; i < workers; ++i) REQUIRE(client.post_send(i, 1) == 0);
      for (const auto& thread : threads) thread->join();
      std::array<bool, workers> seen{};
      for (const Taken& one : taken) {
        REQUIRE(one.result.wake == Wake::completions);
        CHECK_FALSE(std::exchange(seen[one.completion.id], true));
      }
    }
  });
}

// Each worker's set has two shared queues; an event of one must not be lost with a thread that took from the
// other.
TEST_CASE("an event consumed for a queue that was not taken from wakes another thread", "[shared_queue]") {
  with_ports(Transport::rc, [&](const PortPair& ports) {
    for (int round = 0; round < 50; ++round) {
      Side first(ports.server, Transport::rc, {});
      Side second(ports.server, Transport::rc, {});
      Side first_client(ports.client, Transport::rc, {});
      Side second_client(ports.client, Transport::rc, {});
      connect(ports, first, first_client);
      connect(ports, second, second_client);
      REQUIRE(first.post_receive(0) == 0);
      REQUIRE(second.post_receive(0) == 0);
      std::array<Taken, 2> taken;
      std::vector<std::unique_ptr<Thread>> threads;
      const StopAtExit stop(*first.stop);
      for (std::size_t worker = 0; worker < taken.size(); ++worker) {
        threads.push_back(ports.server.runtime->spawn({"worker", {}}, [&, worker] {
          const std::array<CompletionQueue*, 2> sources{first.receive_queue.get(),
                                                        second.receive_queue.get()};
          const auto set = ports.server.wait_sets->make_wait_set({sources, {}}, *first.stop);
          taken[worker] = take(How::block, *set);
        }));
      }
      if (round % 2 == 0) {
        ports.client.runtime->sleep_until(ports.client.runtime->now() + 500us, *first_client.stop);
      }
      REQUIRE(first_client.post_send(0, 1) == 0);
      REQUIRE(second_client.post_send(0, 1) == 0);
      for (const auto& thread : threads) thread->join();
      CHECK(taken[0].result.source != taken[1].result.source);
    }
  });
}

// Waking all who sleep for each message would be a switch for each of them.
TEST_CASE("a message wakes one of those who sleep for it", "[shared_queue]") {
  constexpr std::size_t workers = 6;
  constexpr std::size_t messages = 300;
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Connected sides(ports, depth);
    Side& server = sides.server;
    Side& client = sides.client;
    std::array<std::uint64_t, workers> switches{};
    std::array<std::size_t, workers> taken{};
    std::vector<std::unique_ptr<Thread>> threads;
    const StopAtExit stop(*server.stop);
    for (std::size_t worker = 0; worker < workers; ++worker) {
      threads.push_back(ports.server.runtime->spawn({"worker", {}}, [&, worker] {
        taken[worker] = take_all(How::block, ports, server);
        switches[worker] = ports.server.runtime->usage().voluntary_switches;
      }));
    }
    for (std::size_t i = 0; i < messages; ++i) {
      // All sleep again.
      ports.client.runtime->sleep_until(ports.client.runtime->now() + 100us, *client.stop);
      REQUIRE(client.post_send(0, 1) == 0);
      REQUIRE(take(How::block, *client.sends).completion.status == CompletionStatus::ok);
    }
    server.stop->request();
    for (const auto& thread : threads) thread->join();
    CHECK(std::accumulate(taken.begin(), taken.end(), std::size_t{0}) == messages);
    CHECK(std::accumulate(switches.begin(), switches.end(), std::uint64_t{0}) < 2 * messages);
  });
}

TEST_CASE("threads that share a queue stop by their own flags", "[shared_queue]") {
  with_ports(Transport::rc, [&](const PortPair& ports) {
    constexpr std::size_t workers = 4;
    Connected sides(ports, 1);
    Side& server = sides.server;
    Side& client = sides.client;
    const auto early = ports.server.runtime->make_stop_flag();
    std::array<Taken, workers> taken;
    std::vector<std::unique_ptr<Thread>> threads;
    const StopAtExit stop(*server.stop);
    const StopAtExit stop_early(*early);
    for (std::size_t worker = 0; worker < workers; ++worker) {
      const StopFlag& own = worker % 2 == 0 ? *early : *server.stop;
      threads.push_back(ports.server.runtime->spawn({"worker", {}}, [&, worker] {
        const auto set = own_set(ports, server, own);
        taken[worker] = take(How::block, *set);
      }));
    }
    ports.client.runtime->sleep_until(ports.client.runtime->now() + 500us, *client.stop);
    early->request();
    threads[0]->join();
    threads[2]->join();
    CHECK(taken[0].result.wake == Wake::stopped);
    CHECK(taken[2].result.wake == Wake::stopped);
    REQUIRE(client.post_send(0, 1) == 0);
    REQUIRE(take(How::block, *client.sends).completion.status == CompletionStatus::ok);
    server.stop->request();
    threads[1]->join();
    threads[3]->join();
    // One of those who were left took the message, the other one stopped.
    CHECK((taken[1].result.wake == Wake::completions) != (taken[3].result.wake == Wake::completions));
    CHECK((taken[1].result.wake == Wake::stopped) != (taken[3].result.wake == Wake::stopped));
  });
}

TEST_CASE("a spinning and a blocked thread share one queue", "[shared_queue]") {
  with_ports(Transport::rc, [&](const PortPair& ports) {
    constexpr std::size_t messages = 500;
    Connected sides(ports, depth);
    Side& server = sides.server;
    Side& client = sides.client;
    std::array<std::size_t, 2> taken{};
    std::vector<std::unique_ptr<Thread>> threads;
    const StopAtExit stop(*server.stop);
    for (const How how : {How::spin, How::block}) {
      threads.push_back(ports.server.runtime->spawn(
          {"worker", {}}, [&, how] { taken[how == How::spin ? 0 : 1] = take_all(how, ports, server); }));
    }
    for (std::size_t i = 0; i < messages; ++i) {
      REQUIRE(client.post_send(0, 1) == 0);
      REQUIRE(take(How::block, *client.sends).completion.status == CompletionStatus::ok);
    }
    server.stop->request();
    for (const auto& thread : threads) thread->join();
    CHECK(taken[0] + taken[1] == messages);
  });
}

}  // namespace
}  // namespace rkv::test
