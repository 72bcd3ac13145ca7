// Dialling and accepting between simulated hosts.
#include <catch2/catch.hpp>

#include "core/error.hpp"
#include "tests/sim/port/stream_world.hpp"

namespace rkv::sim::test {
namespace {

const StreamSpec plain = spec(100, 100);

TEST_CASE("a connection takes a round trip") {
  StreamWorld world;
  const auto listener = world.server.listen(1);
  const Ps begin = world.now();
  const auto stream = world.client.dial(listener->address(), plain, never);
  // connect(2); 66 bytes of headers there, the listener's interrupt; 66 back, the interrupt that wakes.
  const Ps link = 106'600 + 2'000 * ns;
  CHECK(world.now() - begin == 100 * ns + link + 3'000 * ns + link + 3'500 * ns);
}

TEST_CASE("ports of a host count up from 1") {
  StreamWorld world;
  const auto first = world.server.listen(1);
  const auto second = world.server.listen(1);
  const auto other = world.client.listen(1);
  CHECK(first->address().host == "server");
  CHECK(first->address().port == 1);
  CHECK(second->address().port == 2);
  CHECK(other->address().host == "client");
  CHECK(other->address().port == 1);
}

TEST_CASE("nobody listens, or there is no such host") {
  StreamWorld world;
  CHECK_THROWS_WITH(world.client.dial({"server", 7}, plain, never),
                    Catch::Contains("server:7") && Catch::Contains("refused"));
  CHECK_THROWS_WITH(world.client.dial({"elsewhere", 7}, plain, never), Catch::Contains("elsewhere:7"));
  world.drain();
  CHECK(world.tcp.connections() == 0);
}

TEST_CASE("a receive capacity of nothing is refused") {
  StreamWorld world;
  const auto listener = world.server.listen(1);
  CHECK_THROWS_AS(world.client.dial(listener->address(), spec(0, 1), never), Error);
  CHECK_THROWS_AS(listener->accept(spec(0, 1), never), Error);
}

TEST_CASE("accepting ends at its deadline") {
  StreamWorld world;
  const auto listener = world.server.listen(1);
  const Ps deadline = world.now() + 5 * ms;
  CHECK(listener->accept(plain, to_instant(deadline)) == nullptr);
  CHECK(world.now() == deadline);
}

TEST_CASE("a thread that accepts is woken by the connection") {
  StreamWorld world;
  const auto listener = world.server.listen(1);
  std::unique_ptr<Stream> client;
  world.make_thread(world.server_host, [&] {
    world.world.set_current(world.thread);
    client = world.client.dial(listener->address(), plain, never);
  });
  const auto server = listener->accept(plain, never);
  REQUIRE(server);
  REQUIRE(client->send(pattern(3)) == StreamSend::accepted);
  wait_for(world, server);
  CHECK(take(world, server).bytes == 3);
}

TEST_CASE("beyond the backlog a dial waits for an accept") {
  StreamWorld world;
  const auto listener = world.server.listen(1);
  const auto first = world.client.dial(listener->address(), plain, never);
  const Ps deadline = world.now() / ns * ns + 5 * ms;
  CHECK_THROWS_WITH(world.client.dial(listener->address(), plain, to_instant(deadline)),
                    Catch::Contains("server:1") && Catch::Contains("deadline"));
  CHECK(world.now() == deadline);

  const auto accepted = listener->accept(plain, never);
  REQUIRE(accepted);
  REQUIRE(first->send(pattern(4)) == StreamSend::accepted);
  wait_for(world, accepted);
  CHECK(take(world, accepted).bytes == 4);
  // The one that gave up is accepted too, and has ended.
  const auto abandoned = listener->accept(plain, never);
  REQUIRE(abandoned);
  wait_for(world, abandoned);
  CHECK(take(world, abandoned).status == CompletionStatus::closed);
}

TEST_CASE("an accept answers who waits behind the backlog") {
  StreamWorld world;
  const auto listener = world.server.listen(1);
  const auto first = world.client.dial(listener->address(), plain, never);
  std::unique_ptr<Stream> accepted;
  Ps accepted_at = 0;
  world.make_thread(world.client_host, [&] {
    world.world.set_current(world.thread);
    world.thread->spend(1 * ms, Spent::program);
    accepted = listener->accept(plain, never);
    accepted_at = world.now();
  });
  const auto second = world.client.dial(listener->address(), plain, never);
  REQUIRE(accepted);
  CHECK(world.now() == accepted_at + 106'600 + 2'000 * ns + 3'500 * ns);
}

TEST_CASE("a listener's end refuses who waits and closes who was answered") {
  StreamWorld world;
  auto listener = world.server.listen(1);
  const auto answered = world.client.dial(listener->address(), plain, never);
  Thread& other = world.make_thread(world.client_host, [&] {
    world.world.set_current(world.thread);
    world.thread->spend(1 * ms, Spent::program);
    world.now();
    listener.reset();
    world.now();
  });
  CHECK(world.world.current() == &other);
  CHECK_THROWS_WITH(world.client.dial(listener->address(), plain, never), Catch::Contains("refused"));
  wait_for(world, answered);
  CHECK(take(world, answered).status == CompletionStatus::closed);
}

TEST_CASE("bytes sent before the accept are there after it") {
  StreamWorld world;
  const auto listener = world.server.listen(1);
  const auto client = world.client.dial(listener->address(), plain, never);
  REQUIRE(client->send(pattern(150)) == StreamSend::accepted);
  world.drain();
  const auto server = listener->accept(plain, never);
  CHECK(take(world, server).bytes == 100);
  server->consume(100);
  CHECK(take(world, server).bytes == 50);
}

}  // namespace
}  // namespace rkv::sim::test
