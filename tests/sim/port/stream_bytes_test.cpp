// Bytes on simulated streams: order, the window, ends, and what is left of a connection.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "tests/sim/port/stream_world.hpp"

namespace rkv::sim::test {
namespace {

TEST_CASE("bytes arrive whole and in order whatever the sizes") {
  std::mt19937 random(GENERATE(range(1U, 9U)));
  Profile profile = stream_profile();
  profile.network.one_host = random() % 2 == 0;
  // Long segments take another way, on which the next ones overtake them.
  profile.network.flow_bytes = random() % 2 * 40;
  StreamWorld* at = nullptr;
  StreamWorld world(
      profile, [&](std::uint32_t, std::uint32_t, std::uint64_t, EventHandler& handler, std::uint64_t tag) {
        at->world.at(at->world.now() + 30 * us, handler, tag);
      });
  at = &world;
  const std::size_t capacity = 1 + random() % 200;
  Connected ends(world, spec(capacity, 10), spec(10, 100'000));
  const std::vector<std::byte> all = pattern(20'000);
  std::size_t given = 0;
  std::vector<std::byte> got;
  while (got.size() < all.size()) {
    if (given < all.size() && random() % 2 == 0) {
      const std::size_t more = std::min<std::size_t>(random() % 300, all.size() - given);
      REQUIRE(ends.client->send(std::span(all).subspan(given, more)) == StreamSend::accepted);
      given += more;
    } else if (given > got.size() + ends.server->received().size()) {
      if (ends.server->received().size() < capacity) {
        wait_for(world, ends.server);
        take(world, ends.server);
      }
      REQUIRE(ends.server->received().size() <= capacity);
      const auto part = ends.server->received().first(1 + random() % ends.server->received().size());
      got.insert(got.end(), part.begin(), part.end());
      ends.server->consume(part.size());
    } else if (const auto rest = ends.server->received(); !rest.empty()) {
      got.insert(got.end(), rest.begin(), rest.end());
      ends.server->consume(rest.size());
    }
  }
  CHECK((got == all));
}

TEST_CASE("the window and the transmit buffer together bound what is under way") {
  StreamWorld world;
  Connected ends(world, spec(100, 10), spec(10, 50));
  // In one burst: nothing has left when the last is refused.
  CHECK(ends.client->send(pattern(90)) == StreamSend::accepted);
  CHECK(ends.client->send(pattern(60)) == StreamSend::accepted);
  CHECK(ends.client->send(pattern(1)) == StreamSend::overflow);
  CHECK(ends.client->send(pattern(1)) == StreamSend::closed);
  // What left is there, and then the end; the other direction goes on.
  world.drain();
  CHECK(take(world, ends.server).bytes == 100);
  ends.server->consume(100);
  world.drain();
  CHECK(take(world, ends.server).status == CompletionStatus::closed);
  CHECK(ends.server->send(pattern(5)) == StreamSend::accepted);
  wait_for(world, ends.client);
  CHECK(take(world, ends.client).bytes == 5);
}

TEST_CASE("the end comes after the last bytes, and once") {
  StreamWorld world;
  Connected ends(world, spec(100, 100), spec(100, 100));
  CHECK(ends.client->send(pattern(5)) == StreamSend::accepted);
  ends.client.reset();
  wait_for(world, ends.server);
  CHECK(take(world, ends.server).bytes == 5);
  wait_for(world, ends.server);
  CHECK(take(world, ends.server).status == CompletionStatus::closed);
  CHECK_FALSE(source_of(ends.server).ready());
  CHECK(ends.server->received().size() == 5);
  CHECK(ends.server->send(pattern(1)) == StreamSend::closed);
}

TEST_CASE("until the peer's end has come, sends are taken and lost") {
  StreamWorld world;
  Connected ends(world, spec(100, 100), spec(100, 100));
  ends.client->close();
  CHECK(ends.client->send(pattern(1)) == StreamSend::closed);
  CHECK(ends.server->send(pattern(70)) == StreamSend::accepted);
  world.drain();
  CHECK(ends.client->received().empty());
  CHECK_FALSE(source_of(ends.client).ready());
  CHECK(ends.server->send(pattern(1)) == StreamSend::closed);
}

TEST_CASE("a send that is still in its burst when the peer's end comes is not sent") {
  StreamWorld world;
  Connected ends(world, spec(100, 100), spec(100, 100));
  world.drain();
  ends.client->close();
  world.now();
  world.thread->spend(1 * ms, Spent::program);
  REQUIRE(ends.server->send(pattern(70)) == StreamSend::accepted);
  const Ps wire = world.world.spent().of(Spent::wire);
  world.drain();
  CHECK(world.world.spent().of(Spent::wire) == wire);
}

TEST_CASE("a stream with no room left is not ready, even at its end") {
  StreamWorld world;
  Connected ends(world, spec(8, 100), spec(100, 100));
  CHECK(ends.client->send(pattern(8)) == StreamSend::accepted);
  wait_for(world, ends.server);
  CHECK(take(world, ends.server).bytes == 8);
  ends.client->close();
  world.drain();
  CHECK_FALSE(source_of(ends.server).ready());
  ends.server->consume(1);
  REQUIRE(source_of(ends.server).ready());
  CHECK(take(world, ends.server).status == CompletionStatus::closed);
}

TEST_CASE("nothing is left of a connection when both ends are gone and all has arrived") {
  Profile profile = stream_profile();
  profile.network.one_host = GENERATE(false, true);
  const bool server_first = GENERATE(false, true);
  StreamWorld world(profile);
  {
    Connected ends(world, spec(100, 100), spec(100, 100));
    CHECK(ends.client->send(pattern(150)) == StreamSend::accepted);
    CHECK(ends.server->send(pattern(30)) == StreamSend::accepted);
    (server_first ? ends.server : ends.client).reset();
    CHECK(world.tcp.connections() == 1);
  }
  CHECK(world.tcp.connections() == 1);
  world.drain();
  CHECK(world.tcp.connections() == 0);
}

}  // namespace
}  // namespace rkv::sim::test
