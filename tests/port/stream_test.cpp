// Streams: bytes in order through any buffer sizes, the peer's end, back pressure, each way to wait.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "core/error.hpp"
#include "tests/port/link.hpp"
#include "tests/support/repetitions.hpp"

namespace rkv::test {
namespace {

using namespace std::chrono_literals;
using Wait = SocketOptions::Wait;

std::vector<std::byte> pattern(std::size_t bytes) {
  std::vector<std::byte> result(bytes);
  for (std::size_t i = 0; i < bytes; ++i) result[i] = static_cast<std::byte>(i * 7 + i / 256);
  return result;
}

// Two connected streams, a stop flag, and a wait set for each end.
struct Connection {
  Connection(const PortPair& ports, const StreamSpec& server_spec, const StreamSpec& client_spec)
      : stop(ports.server.runtime->make_stop_flag()) {
    Runtime& runtime = *ports.server.runtime;
    const auto listener = ports.server.streams->listen(4);
    const Instant deadline = runtime.now() + 10s;
    client = ports.client.streams->dial(listener->address(), client_spec, deadline);
    server = listener->accept(server_spec, deadline);
    REQUIRE(server);
    client_set = make_set(ports.client, client.get());
    server_set = make_set(ports.server, server.get());
  }
  std::unique_ptr<WaitSet> make_set(const Port& port, Stream* stream) const {
    const std::array<Stream*, 1> streams{stream};
    return port.wait_sets->make_wait_set({{}, streams}, *stop);
  }

  std::unique_ptr<StopFlag> stop;
  std::unique_ptr<Stream> client;
  std::unique_ptr<Stream> server;
  std::unique_ptr<WaitSet> client_set;
  std::unique_ptr<WaitSet> server_set;
};

WaitResult wait_by(How how, WaitSet& set, Completion& arrival, Instant deadline) {
  return wait(how, set, {&arrival, 1}, deadline);
}

StreamSpec spec(std::size_t receive, std::size_t transmit, Wait wait = Wait::read) {
  return {receive, transmit, wait};
}

TEST_CASE("a long transfer through tiny buffers arrives whole and in order", "[stream]") {
  const How how = GENERATE(How::spin, How::block);
  const Wait wait = GENERATE(Wait::read, Wait::select);
  with_ports(Transport::tcp, [&](const PortPair& ports) {
    Connection connection(ports, spec(61, 0, wait), spec(16, 5U << 20U, wait));
    // More than the kernel's own buffers take: most of it waits in the sender's transmit buffer at first.
    const std::vector<std::byte> sent = pattern(std::size_t{repetitions(5)} << 20U);
    const auto sender = ports.client.runtime->spawn({"sender", {}}, [&] {
      if (connection.client->send(sent) != StreamSend::accepted) return;
      Completion arrival;  // the wait for the answer is what sends on the rest
      wait_by(how, *connection.client_set, arrival, never);
    });

    std::vector<std::byte> got;
    Completion arrival;
    while (got.size() < sent.size()) {
      const WaitResult result = wait_by(how, *connection.server_set, arrival, never);
      if (result.wake != Wake::completions || arrival.status != CompletionStatus::ok) break;
      const auto received = connection.server->received();
      // Leaves a part behind, so that what was kept and what is new must join.
      const std::size_t keep = got.size() + received.size() < sent.size() ? received.size() / 3 : 0;
      got.insert(got.end(), received.begin(), received.end() - static_cast<std::ptrdiff_t>(keep));
      connection.server->consume(received.size() - keep);
    }
    CHECK(connection.server->send(pattern(1)) == StreamSend::accepted);
    sender->join();
    CHECK((got == sent));
  });
}

TEST_CASE("a completion tells how many bytes were appended", "[stream]") {
  const How how = GENERATE(How::spin, How::block);
  with_ports(Transport::tcp, [&](const PortPair& ports) {
    Connection connection(ports, spec(64, 64), spec(64, 64));
    const std::vector<std::byte> message = pattern(10);
    for (std::size_t round = 1; round <= 3; ++round) {
      REQUIRE(connection.client->send(message) == StreamSend::accepted);
      Completion arrival;
      const WaitResult result = wait_by(how, *connection.server_set, arrival, never);
      REQUIRE(result.wake == Wake::completions);
      CHECK(result.count == 1);
      CHECK(arrival.status == CompletionStatus::ok);
      CHECK(arrival.bytes == 10);
      REQUIRE(connection.server->received().size() == 10 * round);
    }
    connection.server->consume(25);
    CHECK((std::ranges::equal(connection.server->received(), std::span(message).last(5))));
  });
}

TEST_CASE("the peer's end is told once, after its last bytes", "[stream]") {
  const How how = GENERATE(How::spin, How::block);
  const Wait wait = GENERATE(Wait::read, Wait::select);
  with_ports(Transport::tcp, [&](const PortPair& ports) {
    Connection connection(ports, spec(64, 64, wait), spec(64, 64));
    REQUIRE(connection.client->send(pattern(5)) == StreamSend::accepted);
    connection.client.reset();
    Completion arrival;
    REQUIRE(wait_by(how, *connection.server_set, arrival, never).wake == Wake::completions);
    CHECK(arrival.bytes == 5);
    REQUIRE(wait_by(how, *connection.server_set, arrival, never).wake == Wake::completions);
    CHECK(arrival.status == CompletionStatus::closed);
    CHECK(arrival.bytes == 0);
    CHECK(connection.server->received().size() == 5);
    const Instant deadline = ports.server.runtime->now() + 1ms;
    CHECK(wait_by(how, *connection.server_set, arrival, deadline).wake == Wake::deadline);
  });
}

TEST_CASE("closing ends a stream for both sides", "[stream]") {
  const How how = GENERATE(How::spin, How::block);
  with_ports(Transport::tcp, [&](const PortPair& ports) {
    Connection connection(ports, spec(64, 64), spec(64, 64));
    connection.client->close();
    CHECK(connection.client->send(pattern(1)) == StreamSend::closed);
    Completion arrival;
    const Instant deadline = ports.client.runtime->now() + 1ms;
    CHECK(wait_by(how, *connection.client_set, arrival, deadline).wake == Wake::deadline);
    REQUIRE(wait_by(how, *connection.server_set, arrival, never).wake == Wake::completions);
    CHECK(arrival.status == CompletionStatus::closed);
  });
}

TEST_CASE("sending to a peer that is gone says closed", "[stream]") {
  with_ports(Transport::tcp, [&](const PortPair& ports) {
    Connection connection(ports, spec(64, 64), spec(64, 64));
    connection.client.reset();
    Completion arrival;
    REQUIRE(connection.server_set->block({&arrival, 1}, never).wake == Wake::completions);
    REQUIRE(arrival.status == CompletionStatus::closed);
    // The first send may still be taken: its refusal comes back later.
    StreamSend outcome = StreamSend::accepted;
    for (int i = 0; i < 1000 && outcome == StreamSend::accepted; ++i) {
      outcome = connection.server->send(pattern(1));
      const Instant soon = ports.server.runtime->now() + 1ms;
      ports.server.runtime->sleep_until(soon, *connection.stop);
    }
    CHECK(outcome == StreamSend::closed);
  });
}

TEST_CASE("a peer that does not read overflows the transmit buffer", "[stream]") {
  with_ports(Transport::tcp, [&](const PortPair& ports) {
    Connection connection(ports, spec(64, 64), spec(64, 4096));
    const std::vector<std::byte> message = pattern(1000);
    StreamSend outcome = StreamSend::accepted;
    for (int i = 0; i < 100'000 && outcome == StreamSend::accepted; ++i) {
      outcome = connection.client->send(message);
    }
    CHECK(outcome == StreamSend::overflow);
    CHECK(connection.client->send(message) == StreamSend::closed);
  });
}

TEST_CASE("waiting for a silent stream ends at the deadline, not before", "[stream]") {
  const How how = GENERATE(How::spin, How::block);
  const Wait wait = GENERATE(Wait::read, Wait::select);
  // Near and far: a blocking receive is used for the far one.
  const Duration time = GENERATE(Duration(0), Duration(2ms), Duration(120ms));
  with_ports(Transport::tcp, [&](const PortPair& ports) {
    Connection connection(ports, spec(64, 64, wait), spec(64, 64));
    Completion arrival;
    const Instant deadline = ports.server.runtime->now() + time;
    CHECK(wait_by(how, *connection.server_set, arrival, deadline).wake == Wake::deadline);
    CHECK(ports.server.runtime->now() >= deadline);
  });
}

TEST_CASE("a stop request ends a wait for a stream that was to last for ever", "[stream]") {
  const How how = GENERATE(How::spin, How::block);
  const Wait wait = GENERATE(Wait::read, Wait::select);
  with_ports(Transport::tcp, [&](const PortPair& ports) {
    Connection connection(ports, spec(64, 64, wait), spec(64, 64));
    Runtime& runtime = *ports.server.runtime;
    WaitResult result;
    const auto waiter = runtime.spawn({"waiter", {}}, [&] {
      Completion arrival;
      result = wait_by(how, *connection.server_set, arrival, never);
    });
    const auto other = runtime.make_stop_flag();
    runtime.sleep_until(runtime.now() + 2ms, *other);
    connection.stop->request();
    waiter->join();
    CHECK(result.wake == Wake::stopped);
    // What is there is still handed out.
    REQUIRE(connection.client->send(pattern(3)) == StreamSend::accepted);
    Completion arrival;
    for (int i = 0; i < 1000; ++i) {
      result = wait_by(how, *connection.server_set, arrival, never);
      if (result.wake == Wake::completions) break;
      runtime.sleep_until(runtime.now() + 1ms, *other);
    }
    CHECK(result.wake == Wake::completions);
  });
}

TEST_CASE("one set waits for many streams and starves none", "[stream]") {
  const How how = GENERATE(How::spin, How::block);
  with_ports(Transport::tcp, [&](const PortPair& ports) {
    constexpr std::size_t count = 5;
    constexpr std::size_t rounds = 20;
    const auto stop = ports.server.runtime->make_stop_flag();
    const auto listener = ports.server.streams->listen(count);
    std::vector<std::unique_ptr<Stream>> owned;
    std::vector<Stream*> clients;
    std::vector<Stream*> servers;
    for (std::size_t i = 0; i < count; ++i) {
      const Instant deadline = ports.server.runtime->now() + 10s;
      owned.push_back(ports.client.streams->dial(listener->address(), spec(64, 64), deadline));
      clients.push_back(owned.back().get());
      owned.push_back(listener->accept(spec(8, 64), deadline));
      servers.push_back(owned.back().get());
    }
    const auto set = ports.server.wait_sets->make_wait_set({{}, servers}, *stop);
    Completion arrival;
    CHECK(wait_by(how, *set, arrival, ports.server.runtime->now()).wake == Wake::deadline);

    std::vector<std::size_t> got(count, 0);
    for (std::size_t round = 0; round < rounds; ++round) {
      for (Stream* client : clients) REQUIRE(client->send(pattern(4)) == StreamSend::accepted);
      for (std::size_t i = 0; i < count; ++i) {
        REQUIRE(wait_by(how, *set, arrival, never).wake == Wake::completions);
        // No consume for a while: a full buffer must neither spin nor end a wait.
        if (round % 2 == 1) {
          for (std::size_t s = 0; s < count; ++s) {
            got[s] += servers[s]->received().size();
            servers[s]->consume(servers[s]->received().size());
          }
        }
      }
    }
    while (wait_by(how, *set, arrival, ports.server.runtime->now() + 1ms).wake == Wake::completions) {
    }
    for (std::size_t s = 0; s < count; ++s) CHECK(got[s] + servers[s]->received().size() == 4 * rounds);

    // One ends: told once, by its own index; the others go on.
    owned[2 * 3].reset();
    const WaitResult ended = set->block({&arrival, 1}, never);
    CHECK(ended.source == 3);
    CHECK(arrival.status == CompletionStatus::closed);
    CHECK(set->block({&arrival, 1}, ports.server.runtime->now() + 1ms).wake == Wake::deadline);
    REQUIRE(clients[1]->send(pattern(4)) == StreamSend::accepted);
    CHECK(set->block({&arrival, 1}, never).source == 1);
  });
}

TEST_CASE("dialling where nobody listens, and accepting when nobody dials", "[stream]") {
  with_ports(Transport::tcp, [&](const PortPair& ports) {
    Runtime& runtime = *ports.server.runtime;
    auto listener = ports.server.streams->listen(1);
    const StreamAddress address = listener->address();
    CHECK(listener->accept(spec(64, 64), runtime.now() + 1ms) == nullptr);
    listener.reset();
    CHECK_THROWS_WITH(ports.client.streams->dial(address, spec(64, 64), runtime.now() + 5s),
                      Catch::Contains(address.host + ":" + std::to_string(address.port)));
  });
}

}  // namespace
}  // namespace rkv::test
