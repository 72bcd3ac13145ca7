#include "core/posting/send_lane.hpp"

#include <catch2/catch.hpp>
#include <deque>
#include <random>

using namespace rkv;

TEST_CASE("a lane is deep enough for its interval and a power of two") {
  for (std::uint32_t outstanding : {1U, 3U, 64U, 1000U}) {
    for (std::uint32_t interval : {1U, 2U, 7U, 64U}) {
      const std::uint32_t depth = lane_depth(outstanding, interval);
      CHECK(depth >= 2 * interval);
      CHECK(depth >= 2 * outstanding);
      CHECK((depth & (depth - 1)) == 0);
    }
  }
}

TEST_CASE("one send in `interval` is signalled") {
  SendLane lane(16, 4);
  for (int round = 0; round < 4; ++round) {
    CHECK_FALSE(lane.next().signalled);
    CHECK_FALSE(lane.next().signalled);
    CHECK_FALSE(lane.next().signalled);
    const SendLane::Slot last = lane.next();
    CHECK(last.signalled);
    lane.completed(last.number);
  }
}

TEST_CASE("a buffer is reused only after its send is known to be done", "[property]") {
  std::mt19937 random(3);  // NOLINT(cert-msc51-cpp): the same every time
  for (std::uint32_t interval : {1U, 3U, 8U}) {
    SendLane lane(lane_depth(4, interval), interval);
    std::deque<SendLane::Slot> under_way;  // in the order of posting
    for (int step = 0; step < 20000; ++step) {
      if (!lane.full() && random() % 3 != 0) {
        const std::uint32_t buffer = lane.next_buffer();
        for (const SendLane::Slot& other : under_way) REQUIRE(other.number % lane.depth() != buffer);
        under_way.push_back(lane.next());
        continue;
      }
      // The device completes in order; the next signalled one tells of all before it.
      auto signalled = under_way.begin();
      while (signalled != under_way.end() && !signalled->signalled) ++signalled;
      if (signalled == under_way.end()) {
        REQUIRE_FALSE(lane.full());  // or the lane would be stuck for ever
        continue;
      }
      lane.completed(signalled->number);
      under_way.erase(under_way.begin(), signalled + 1);
    }
  }
}

TEST_CASE("completions that are told late change nothing") {
  SendLane lane(8, 1);
  for (int i = 0; i < 8; ++i) static_cast<void>(lane.next());
  REQUIRE(lane.full());
  lane.completed(5);
  REQUIRE_FALSE(lane.full());
  lane.completed(2);  // taken earlier by another worker, told later
  for (int i = 0; i < 6; ++i) {
    REQUIRE_FALSE(lane.full());
    static_cast<void>(lane.next());
  }
  REQUIRE(lane.full());
}

TEST_CASE("a lane is idle while nothing that was sent is without its completion") {
  SendLane lane(8, 2);
  REQUIRE(lane.idle());
  static_cast<void>(lane.next());
  const SendLane::Slot signalled = lane.next();
  REQUIRE(signalled.signalled);
  REQUIRE_FALSE(lane.idle());
  lane.completed(signalled.number);
  REQUIRE(lane.idle());
}
