#include "core/report/exchange.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "core/error.hpp"
#include "tests/report/sample.hpp"
#include "tests/support/mutate_json.hpp"

using namespace rkv;

namespace {

void check_same(const PointResult& left, const PointResult& right) {
  CHECK(left.clients == right.clients);
  CHECK(left.operations == right.operations);
  CHECK(left.window == right.window);
  CHECK(left.latency == right.latency);
  CHECK(left.per_client == right.per_client);
  CHECK(left.timeouts == right.timeouts);
  CHECK(left.retries == right.retries);
  CHECK(left.reconnections == right.reconnections);
  CHECK(left.lost == right.lost);
  CHECK(left.duplicates == right.duplicates);
  CHECK(left.late_responses == right.late_responses);
  CHECK(left.direct_gets == right.direct_gets);
  CHECK(left.server_replays == right.server_replays);
  CHECK(left.server_work == right.server_work);
  CHECK(left.trace_overflow == right.trace_overflow);
  CHECK(left.check_violations == right.check_violations);
  CHECK(left.server == right.server);
  CHECK(left.client == right.client);
  CHECK(left.other_way == right.other_way);
  CHECK(left.injected_faults == right.injected_faults);
  CHECK(left.time_spent_ns == right.time_spent_ns);
  CHECK(left.partial_reason == right.partial_reason);
}

}  // namespace

TEST_CASE("a point's result survives being sent") {
  auto point = test::sample_point(3, 50);
  point.trace_overflow = 9;
  point.partial_reason = "the server went away";
  point.time_spent_ns = {{"wire", 812.5}, {"store", 3.0}};
  point.other_way = {.operations = 150, .measured = std::chrono::milliseconds(3)};
  point.check_violations.add("client 1: wrong value");
  check_same(point_from_json(nlohmann::json::parse(to_json(point).dump())), point);
  check_same(point_from_json(to_json(PointResult())), PointResult());
}

TEST_CASE("a received result that can't be is refused, with the member's name") {
  auto sample = test::sample_point(1, 10);
  sample.time_spent_ns = {{"wire", 812.5}};
  sample.other_way = {.operations = 150, .measured = std::chrono::milliseconds(3)};
  const auto good = to_json(sample);
  const auto refused = [&](const char* pointer, nlohmann::json value) {
    auto bad = good;
    bad[nlohmann::json::json_pointer(pointer)] = std::move(value);
    CHECK_THROWS_AS(point_from_json(bad), Error);
  };
  refused("/clients", -1);
  refused("/clients", std::uint64_t{1} << 32);
  refused("/operations/0", nlohmann::json::array());
  refused("/operations/4/4", "many");
  refused("/per_client", nlohmann::json(70'000, 1));
  refused("/per_client/0/throughput_ops_s", -1.0);
  refused("/per_client/0/throughput_ops_s", 1e300);  // its square would be no number
  refused("/server/cpu_time_ns", std::uint64_t{1} << 60);
  refused("/window/last_response_ns", std::uint64_t{1} << 63);
  refused("/window/first_request_ns", std::uint64_t{1} << 61);
  refused("/check_violations/texts", nlohmann::json(9, "x"));
  refused("/check_violations/texts/0", 3);
  refused("/partial_reason", std::string(5000, 'x'));
  refused("/injected_faults/drop", -4);
  refused("/other_way", 7);
  refused("/other_way/operations", -1);
  refused("/other_way/measured_ns", std::uint64_t{1} << 60);
  refused("/time_spent_ns", 7);
  refused("/time_spent_ns/wire", -1.0);
  refused("/time_spent_ns/wire", "long");
  refused("/latency/min_ns", 0);
  CHECK_THROWS_AS(point_from_json(nlohmann::json::array()), Error);

  auto bad = good;
  bad["client"].erase("threads");
  CHECK_THROWS_WITH(point_from_json(bad), Catch::Contains("/client/threads: is missing"));
}

TEST_CASE("random changes to a sent result are refused or harmless") {
  const auto good = to_json(test::sample_point(2, 20));
  std::mt19937_64 random(1);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    auto changed = good;
    test::mutate(changed, random);
    try {
      auto point = point_from_json(changed);
      merge(point, test::sample_point(1, 1, 1'000'000));
      REQUIRE(std::isfinite(point.throughput_ops_s()));
      REQUIRE(std::isfinite(fairness(point.per_client).jain_index));
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > 1500);
}
