// How long bytes take on a simulated stream, in exact picoseconds worked out by hand from stream_world.hpp's
// prices.
#include <catch2/catch.hpp>

#include "tests/sim/port/stream_world.hpp"

namespace rkv::sim::test {
namespace {

// 10 bytes: send(2) 100 + 3000 + 2 ns of CPU; (10 + 66) * 0.1 + 100 ns of link; 2000 ns of cards and drivers.
constexpr Ps sent = 3'102 * ns;
constexpr Ps on_the_way = 107'600 + 2'000 * ns;

TEST_CASE("bytes are visible when their soft interrupt has ended") {
  StreamWorld world;
  Connected ends(world, spec(100, 100), spec(100, 100));
  const Ps begin = world.now();
  REQUIRE(ends.client->send(pattern(10)) == StreamSend::accepted);
  CHECK(wait_for(world, ends.server, Wait::How::hold_cpu) - begin == sent + on_the_way + 3'000 * ns);
}

TEST_CASE("a sleeping thread is woken at its interrupt's expense") {
  StreamWorld world;
  Connected ends(world, spec(100, 100), spec(100, 100));
  const Ps begin = world.now();
  REQUIRE(ends.client->send(pattern(10)) == StreamSend::accepted);
  CHECK(wait_for(world, ends.server) - begin == sent + on_the_way + 3'500 * ns);
}

TEST_CASE("each packet has its headers, a send has one soft interrupt") {
  StreamWorld world;
  Connected ends(world, spec(10'000, 10'000), spec(100, 100));
  const Ps begin = world.now();
  REQUIRE(ends.client->send(pattern(2500)) == StreamSend::accepted);
  const Ps link = (2500 + 3 * 66) * 100 + 100 * ns;
  CHECK(wait_for(world, ends.server, Wait::How::hold_cpu) - begin ==
        3'600 * ns + link + 2'000 * ns + 3'000 * ns);
}

TEST_CASE("soft interrupts of one CPU queue up") {
  Profile profile = stream_profile();
  profile.tcp.soft_interrupt = 5'000 * ns;
  StreamWorld world(profile);
  Connected ends(world, spec(100, 100), spec(100, 100));
  const Ps begin = world.now();
  REQUIRE(ends.client->send(pattern(10)) == StreamSend::accepted);
  REQUIRE(ends.client->send(pattern(10)) == StreamSend::accepted);
  const Ps first = sent + on_the_way + 5'000 * ns;
  CHECK(wait_for(world, ends.server, Wait::How::hold_cpu) - begin == first);
  CHECK(take(world, ends.server).bytes == 10);
  CHECK(wait_for(world, ends.server, Wait::How::hold_cpu) - begin == first + 5'000 * ns);
}

TEST_CASE("a segment that overtook another is visible only behind it") {
  Profile profile = stream_profile();
  profile.network.flow_bytes = 50;
  StreamWorld* at = nullptr;
  StreamWorld world(
      profile, [&](std::uint32_t, std::uint32_t, std::uint64_t, EventHandler& handler, std::uint64_t tag) {
        at->world.at(at->world.now() + 1 * ms, handler, tag);
      });
  at = &world;
  Connected ends(world, spec(100, 100), spec(100, 100));
  const Ps begin = world.now();
  REQUIRE(ends.client->send(pattern(50)) == StreamSend::accepted);
  REQUIRE(ends.client->send(pattern(10)) == StreamSend::accepted);
  const Ps first = 3'110 * ns + 1 * ms + 2'000 * ns + 3'000 * ns;
  CHECK(wait_for(world, ends.server, Wait::How::hold_cpu) - begin == first);
  CHECK(take(world, ends.server).bytes == 60);
}

TEST_CASE("on one host the sender does the receiver's soft interrupt, and there is no link") {
  Profile profile = stream_profile();
  profile.network.one_host = true;
  StreamWorld world(profile);
  Connected ends(world, spec(100, 100), spec(100, 100));
  const Ps begin = world.now();
  REQUIRE(ends.client->send(pattern(10)) == StreamSend::accepted);
  CHECK(world.now() - begin == sent + 3'000 * ns);
  CHECK(wait_for(world, ends.server, Wait::How::hold_cpu) - begin == sent + 3'000 * ns);
}

TEST_CASE("on one host the sender wakes the sleeping receiver") {
  Profile profile = stream_profile();
  profile.network.one_host = true;
  StreamWorld world(profile);
  Connected ends(world, spec(100, 100), spec(100, 100));
  world.now();
  Ps begin = 0;
  Ps end = 0;
  world.make_thread(world.server_host, [&] {
    world.world.set_current(world.thread);
    begin = world.now();
    REQUIRE(ends.client->send(pattern(10)) == StreamSend::accepted);
    end = world.now();
  });
  CHECK(wait_for(world, ends.server) - begin == sent + 3'500 * ns);
  CHECK(end - begin == sent + 3'500 * ns);
}

TEST_CASE("what does not fit the window leaves when the receiver has consumed") {
  StreamWorld world;
  Connected ends(world, spec(100, 100), spec(100, 200));
  REQUIRE(ends.client->send(pattern(250)) == StreamSend::accepted);
  wait_for(world, ends.server);
  CHECK(take(world, ends.server).bytes == 100);
  CHECK_FALSE(source_of(ends.server).ready());
  const Ps begin = world.now();
  world.thread->spend(700 * ns, Spent::program);
  ends.server->consume(60);
  // 60 bytes: no call, (60 + 66) * 0.1 + 100 ns of link.
  const Ps arrival = 700 * ns + 112'600 + 2'000 * ns + 3'000 * ns;
  CHECK(wait_for(world, ends.server, Wait::How::hold_cpu) - begin == arrival);
  CHECK(take(world, ends.server).bytes == 60);
  CHECK(ends.server->received().size() == 100);
}

TEST_CASE("what wait sets pay for their looks") {
  StreamWorld world;
  Connected ends(world,
                 {.receive_capacity = 100, .transmit_capacity = 0, .wait = SocketOptions::Wait::select},
                 spec(100, 100));
  const Source& reading = source_of(ends.client);
  const Source& selecting = source_of(ends.server);
  CHECK(reading.costs().empty_look == 400 * ns);
  CHECK(reading.costs().blocking_look == 0);
  CHECK(reading.costs().arm == 0);
  CHECK(reading.costs().event == 0);
  CHECK(reading.blocking_overhead() == 0);
  CHECK(selecting.blocking_overhead() == 900 * ns);
  CHECK(reading.multiplexing_overhead() == 900 * ns);
  REQUIRE(ends.client->send(pattern(150)) == StreamSend::accepted);
  wait_for(world, ends.server);
  CHECK(selecting.take_cost(1) == 1'620 * ns);  // as many as the window let through
  CHECK(take(world, ends.server).bytes == 100);
}

TEST_CASE("where the time of a message went") {
  StreamWorld world;
  Connected ends(world, spec(100, 100), spec(100, 100));
  world.drain();
  const auto of = [&](Spent where) { return world.world.spent().of(where); };
  const Ps kernel = of(Spent::kernel);
  const Ps wire = of(Spent::wire);
  const Ps nic = of(Spent::nic);
  const Ps interrupt = of(Spent::interrupt);
  REQUIRE(ends.client->send(pattern(10)) == StreamSend::accepted);
  world.drain();
  CHECK(of(Spent::kernel) - kernel == sent);
  CHECK(of(Spent::wire) - wire == 107'600);
  CHECK(of(Spent::nic) - nic == 2'000 * ns);
  CHECK(of(Spent::interrupt) - interrupt == 3'000 * ns);
}

}  // namespace
}  // namespace rkv::sim::test
