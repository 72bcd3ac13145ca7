#include "core/server/replay.hpp"

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

using namespace rkv;
using Verdict = ReplayTable::Verdict;

namespace {
RequestId request(std::uint16_t slot, std::uint64_t sequence) {
  return {.client = 0, .slot = slot, .sequence = sequence};
}
}  // namespace

TEST_CASE("a request is fresh once, ignored while it is done, then repeated with its code") {
  ReplayTable table(2, 4);
  REQUIRE(table.begin(1, request(3, 1)).verdict == Verdict::fresh);
  REQUIRE(table.begin(1, request(3, 1)).verdict == Verdict::ignored);
  table.finish(1, request(3, 1), ResponseCode::store_error);
  const auto again = table.begin(1, request(3, 1));
  REQUIRE(again.verdict == Verdict::repeated);
  REQUIRE(again.code == ResponseCode::store_error);
}

TEST_CASE("slots and sessions do not see each other") {
  ReplayTable table(2, 2);
  REQUIRE(table.begin(0, request(0, 1)).verdict == Verdict::fresh);
  REQUIRE(table.begin(0, request(1, 1)).verdict == Verdict::fresh);
  REQUIRE(table.begin(1, request(0, 1)).verdict == Verdict::fresh);
}

TEST_CASE("what is older than what its slot has gone on to is ignored") {
  ReplayTable table(1, 1);
  REQUIRE(table.begin(0, request(0, 5)).verdict == Verdict::fresh);
  table.finish(0, request(0, 5), ResponseCode::ok);
  REQUIRE(table.begin(0, request(0, 9)).verdict == Verdict::fresh);
  REQUIRE(table.begin(0, request(0, 5)).verdict == Verdict::ignored);
  // The client had given 5 up while a slow worker was at it: its end changes nothing.
  table.finish(0, request(0, 5), ResponseCode::key_error);
  REQUIRE(table.begin(0, request(0, 9)).verdict == Verdict::ignored);
  table.finish(0, request(0, 9), ResponseCode::ok);
  REQUIRE(table.begin(0, request(0, 9)).code == ResponseCode::ok);
}

TEST_CASE("of many workers with the same request exactly one does it", "[threads]") {
  constexpr std::uint64_t requests = 2000;
  ReplayTable table(1, 1);
  std::vector<std::atomic<int>> done(requests + 1);
  std::vector<std::thread> workers;
  for (int w = 0; w < 3; ++w) {
    workers.emplace_back([&] {
      for (std::uint64_t sequence = 1; sequence <= requests; ++sequence) {
        if (table.begin(0, request(0, sequence)).verdict == Verdict::fresh) {
          ++done[sequence];
          table.finish(0, request(0, sequence), ResponseCode::ok);
        }
      }
    });
  }
  for (auto& worker : workers) worker.join();
  // A worker that is ahead may make an older one ignored by all, never done twice.
  for (std::uint64_t sequence = 1; sequence <= requests; ++sequence) REQUIRE(done[sequence] <= 1);
  REQUIRE(done[requests] == 1);
}
