#include "core/report/result.hpp"

#include <catch2/catch.hpp>
#include <chrono>

#include "core/error.hpp"
#include "tests/report/sample.hpp"

using namespace rkv;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("throughput is all operations over last response minus first request") {
  PointResult point;
  CHECK(point.throughput_ops_s() == 0);
  point.operations.add(Method::get, ResponseCode::ok, 900);
  point.operations.add(Method::set, ResponseCode::store_error, 100);
  point.window.include(seconds(10), seconds(11));
  point.window.include(milliseconds(10'500), seconds(12));
  CHECK(point.throughput_ops_s() == Approx(500.0));
}

TEST_CASE("operations are counted by method and response code") {
  OperationCounts operations;
  operations.add(Method::get, ResponseCode::key_error);
  operations.add(Method::reset, ResponseCode::unknown_error, 2);
  operations.add(static_cast<Method>(0), ResponseCode::ok);
  operations.add(static_cast<Method>(200), ResponseCode::ok);
  operations.add(Method::get, static_cast<ResponseCode>(99));
  CHECK(operations.of(Method::get, ResponseCode::key_error) == 1);
  CHECK(operations.of(Method::reset, ResponseCode::unknown_error) == 2);
  CHECK(operations.total() == 3);
}

TEST_CASE("fairness has the values of its definition") {
  const auto with_rates = [](std::initializer_list<double> rates) {
    std::vector<ClientResult> clients;
    for (const double rate : rates) {
      clients.push_back({.client = static_cast<std::uint32_t>(clients.size()), .throughput_ops_s = rate});
    }
    return fairness(clients);
  };
  CHECK(with_rates({5, 5, 5, 5}).jain_index == Approx(1.0));
  CHECK(with_rates({8, 0, 0, 0}).jain_index == Approx(0.25));
  const auto uneven = with_rates({1, 3});
  CHECK(uneven.jain_index == Approx(16.0 / 20.0));
  CHECK(uneven.min_share == Approx(0.25));
  CHECK(uneven.max_share == Approx(0.75));
  CHECK(with_rates({}).jain_index == 1.0);
  CHECK(with_rates({0, 0}).jain_index == 1.0);
}

TEST_CASE("utilisation is CPU time over the threads' wall time") {
  SideUsage side;
  CHECK(side.utilisation() == 0);
  side.add({.cpu_time = seconds(1), .wall_time = seconds(2)});
  side.add({.voluntary_switches = 5, .involuntary_switches = 6, .wall_time = seconds(2)});
  CHECK(side.threads == 2);
  CHECK(side.voluntary_switches == 5);
  CHECK(side.involuntary_switches == 6);
  CHECK(side.utilisation() == Approx(0.25));
}

TEST_CASE("only the first violations are kept as text, cut and printable") {
  CheckViolations violations;
  violations.add("bad \x01\xff key");
  violations.add(std::string(1000, 'x'));
  for (int i = 0; i < 100; ++i) {
    violations.add("more");
  }
  CHECK(violations.count == 102);
  REQUIRE(violations.texts.size() == CheckViolations::texts_kept);
  CHECK(violations.texts[0] == "bad ?? key");
  CHECK(violations.texts[1].size() == CheckViolations::text_bytes);
}

TEST_CASE("results of two client processes are added up") {
  auto merged = test::sample_point(2, 100, 2);
  const auto other = test::sample_point(2, 300, 0);
  const auto before = merged;
  merge(merged, other);
  CHECK(merged.clients == 4);
  CHECK(merged.operations.total() == 800);
  CHECK(merged.latency.count() == 800);
  CHECK(merged.latency.max_ns() == std::max(before.latency.max_ns(), other.latency.max_ns()));
  CHECK(merged.window.first_request == other.window.first_request);
  CHECK(merged.window.last_response == before.window.last_response);
  CHECK(merged.server.threads == 4);
  CHECK(merged.retries == 6);
  CHECK(merged.reconnections == 2);
  CHECK(merged.direct_gets == DirectGetCounts{.remembered = 1800, .asked = 200, .stale = 14});
  CHECK(merged.injected_faults.at("drop") == 8);
  REQUIRE(merged.per_client.size() == 4);
  for (std::uint32_t client = 0; client < 4; ++client) {
    CHECK(merged.per_client[client].client == client);
    CHECK(merged.per_client[client].operations == (client < 2 ? 300 : 100));
  }
}

TEST_CASE("where time went is merged by the number of operations") {
  auto merged = test::sample_point(1, 100, 0);
  merged.time_spent_ns = {{"store", 10}, {"wire", 40}};
  auto other = test::sample_point(1, 300, 1);
  other.time_spent_ns = {{"store", 30}, {"queue", 8}};
  merge(merged, other);
  REQUIRE(merged.time_spent_ns.size() == 3);
  CHECK(merged.time_spent_ns.at("store") == Approx(25));  // (100 * 10 + 300 * 30) / 400
  CHECK(merged.time_spent_ns.at("wire") == Approx(10));
  CHECK(merged.time_spent_ns.at("queue") == Approx(6));

  PointResult from_nothing;
  merge(from_nothing, other);
  CHECK(from_nothing.time_spent_ns == other.time_spent_ns);
  merge(from_nothing, PointResult());
  CHECK(from_nothing.time_spent_ns == other.time_spent_ns);
}

TEST_CASE("a point merged with a partial one is partial") {
  auto merged = test::sample_point(1, 10, 0);
  auto other = test::sample_point(1, 10, 1);
  other.partial_reason = "client process 2 died";
  merge(merged, other);
  CHECK(merged.partial_reason == "client process 2 died");
}

TEST_CASE("the same client in two results is refused and changes nothing") {
  auto into = test::sample_point(2, 10, 0);
  CHECK_THROWS_AS(merge(into, test::sample_point(2, 10, 1)), Error);
  CHECK(into.operations.total() == 20);
  CHECK(into.per_client.size() == 2);
}
