// Slots of memory that a peer WRITEs frames into, or READs.
#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "core/error.hpp"
#include "core/exchange/slots/publish_frame.hpp"
#include "tests/port/one_sided.hpp"

namespace rkv::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t watched_bytes = 100;

// A server whose slots are watched, and a client that WRITEs frames into them.
struct Watched {
  Watched(const PortPair& ports, Transport transport)
      : server(ports.server, transport, {.one_sided = true}),
        client(ports.client, transport, {}),
        stop(ports.server.runtime->make_stop_flag()),
        watch(ports.server.device->watch_slots({.region = server.region.get(),
                                                .offset = 0,
                                                .slot_bytes = Side::slot_bytes,
                                                .count = Side::slots})) {
    connect(ports, server, client);
    SlotWatch* const watches[] = {watch.get()};
    set = ports.server.wait_sets->make_wait_set({.completion_queues = {}, .slots = watches}, *stop);
  }
  void write(std::uint32_t slot, std::uint64_t sequence, int seed) {
    const std::span<std::byte> frame = client.payload(slot);
    for (std::uint32_t i = 0; i < watched_bytes; ++i) {
      frame[frame_header_bytes + i] = static_cast<std::byte>(i + std::uint32_t(seed));
    }
    const std::uint32_t bytes = seal_frame(frame, sequence, watched_bytes, FrameCheck::words);
    REQUIRE(client.pair->post_send(
                one_sided(SendOperation::write, client, slot, bytes, remote(server, slot))) == 0);
  }
  // Of the slots with news that one look gives.
  std::vector<std::uint64_t> look(std::size_t room = 8, SpinBudget budget = {}) {
    std::vector<Completion> out(room);
    const WaitResult result = set->spin(out, budget, never);
    std::vector<std::uint64_t> slots;
    for (std::uint32_t i = 0; i < result.count; ++i) slots.push_back(out[i].id);
    return slots;
  }
  Side server;
  Side client;
  std::unique_ptr<StopFlag> stop;
  std::unique_ptr<SlotWatch> watch;
  std::unique_ptr<WaitSet> set;
};

TEST_CASE("a WRITE into a watched slot is found, until it is taken", "[slots]") {
  const Transport transport = GENERATE(Transport::rc, Transport::uc);
  with_ports(transport, [&](const PortPair& ports) {
    Watched link(ports, transport);
    link.write(3, 1, 7);
    CHECK(link.look() == std::vector<std::uint64_t>{3});
    CHECK(link.look() == std::vector<std::uint64_t>{3});
    const FrameWord word = link.watch->news(3);
    CHECK(word == frame_word(1, watched_bytes));
    std::vector<std::byte> message(watched_bytes);
    REQUIRE(take_frame(link.watch->slot(3), word, FrameCheck::words, message) == watched_bytes);
    CHECK(message[10] == std::byte{17});
    link.watch->took(3, word);
    CHECK(link.look(8, {.scans = 1}).empty());
    link.write(3, 2, 9);  // the next one in the same slot
    CHECK(link.look() == std::vector<std::uint64_t>{3});
  });
}

TEST_CASE("an older frame in a slot is no news", "[slots]") {
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Watched link(ports, Transport::rc);
    link.write(0, 5, 1);
    CHECK(link.look() == std::vector<std::uint64_t>{0});
    link.watch->took(0, link.watch->news(0));
    link.write(0, 4, 1);
    link.write(1, 1, 1);
    CHECK(link.look() == std::vector<std::uint64_t>{1});
  });
}

TEST_CASE("no slot starves beside one that always has news", "[slots]") {
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Watched link(ports, Transport::rc);
    link.write(0, 1, 1);
    link.write(1, 1, 1);
    link.write(2, 1, 1);
    (void)take(How::spin, *link.client.sends);
    std::vector<int> given(3);
    for (int i = 0; i < 3; ++i) {
      for (const std::uint64_t slot : link.look(1)) ++given[slot];
    }
    CHECK(given == std::vector<int>{1, 1, 1});
  });
}

TEST_CASE("a wait for slots ends by its deadline and by the stop flag, and cannot block", "[slots]") {
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Watched link(ports, Transport::rc);
    std::vector<Completion> out(1);
    const Instant soon = ports.server.runtime->now() + 100us;
    CHECK(link.set->spin(out, {}, soon).wake == Wake::deadline);
    CHECK(link.set->spin(out, {.scans = 3}, never).wake == Wake::budget);
    CHECK_THROWS_AS(link.set->block(out, soon), Error);
    link.stop->request();
    CHECK(link.set->spin(out, {}, never).wake == Wake::stopped);
  });
}

TEST_CASE("slots that do not lie in their region are refused", "[slots]") {
  with_ports(Transport::rc, [&](const PortPair& ports) {
    const Side side(ports.server, Transport::rc, {.one_sided = true});
    const auto watch = [&](std::uint32_t offset, std::uint32_t slot_bytes, std::uint32_t count) {
      return ports.server.device->watch_slots(
          {.region = side.region.get(), .offset = offset, .slot_bytes = slot_bytes, .count = count});
    };
    CHECK_NOTHROW(watch(0, 64, 1));
    CHECK_THROWS_AS(watch(0, 64, 0), Error);
    CHECK_THROWS_AS(watch(4, 64, 1), Error);
    CHECK_THROWS_AS(watch(0, 60, 1), Error);
    CHECK_THROWS_AS(watch(0, 16, 1), Error);
    CHECK_THROWS_AS(watch(0, 64, UINT32_MAX / 64), Error);
  });
}

TEST_CASE("what is published is there for a READ", "[slots]") {
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Side server(ports.server, Transport::rc, {.one_sided = true});
    Side client(ports.client, Transport::rc, {});
    connect(ports, server, client);
    std::vector<std::byte> bytes(64, std::byte{9});
    server.region->publish(2 * Side::slot_bytes, bytes);
    (void)ports.server.runtime->now();  // it is paid for
    REQUIRE(client.pair->post_send(one_sided(SendOperation::read, client, 5, 72, remote(server, 2))) == 0);
    REQUIRE(take(How::spin, *client.sends).completion.status == CompletionStatus::ok);
    CHECK(client.payload(5)[63] == std::byte{9});
    CHECK(client.payload(5)[64] == std::byte{0});
  });
}

// Makes frames of growing numbers, each filled with its number, in slot 0; the peer READs it over and over.
TEST_CASE("a READ that meets the slot's update finds the message before, the one behind, or none",
          "[slots]") {
  constexpr std::uint32_t bytes = 900;
  constexpr std::uint64_t frames = 300;
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Side server(ports.server, Transport::rc, {.one_sided = true});
    Side client(ports.client, Transport::rc, {});
    connect(ports, server, client);
    const auto stop = ports.server.runtime->make_stop_flag();
    const auto writer = ports.server.runtime->spawn({"writer", {}}, [&] {
      Runtime& runtime = *ports.server.runtime;
      std::vector<std::byte> frame(frame_bytes(bytes));
      for (std::uint64_t n = 1; n <= frames; ++n) {
        std::fill(frame.begin(), frame.end(), static_cast<std::byte>(n));
        (void)seal_frame(frame, n, bytes, FrameCheck::checksum);
        publish_frame(runtime, *server.region, 0, frame);
        runtime.sleep_until(runtime.now() + 2us, *stop);
      }
    });
    const StopAtExit end(*stop);
    std::vector<std::byte> message(bytes);
    FrameWord seen = 0;
    int torn = 0;
    while (seen >> 24 < frames) {
      REQUIRE(client.pair->post_send(one_sided(SendOperation::read, client, 1, 1000, remote(server, 0))) ==
              0);
      REQUIRE(take(How::spin, *client.sends).completion.status == CompletionStatus::ok);
      const auto slot = client.payload(1).first(1000);
      const FrameWord word = whole_frame(slot);
      const auto taken = word == 0 ? std::nullopt : take_frame(slot, word, FrameCheck::checksum, message);
      if (!taken) {
        torn += seen == 0 ? 0 : 1;
        continue;
      }
      REQUIRE(word >= seen);
      seen = word;
      REQUIRE(*taken == bytes);
      REQUIRE(std::ranges::all_of(
          message, [&](std::byte byte) { return byte == static_cast<std::byte>(word >> 24); }));
    }
    writer->join();
    CHECK((torn > 0 || !overlaps_are_certain()));
  });
}

}  // namespace
}  // namespace rkv::test
