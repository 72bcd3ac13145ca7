// Who is let in: versions, scenarios, leaders and joiners.
#include <catch2/catch.hpp>

#include "tests/control/live_server.hpp"

using namespace rkv;
using namespace rkv::test;
using namespace std::chrono_literals;

namespace {

// How the server refuses this hello; it must be able to serve afterwards.
std::string refused(const nlohmann::json& hello) {
  const LiveServer server;
  control::Connection stranger = server.dial();
  stranger.send(hello);
  std::string reason = refusal(stranger);
  CHECK(serve_one(server).operations.total() == 300);
  return reason;
}

void require_whole(const PointResult& point, std::uint64_t operations, std::uint32_t clients) {
  for (const std::string& text : point.check_violations.texts) UNSCOPED_INFO(text);
  CHECK(point.partial_reason.empty());
  CHECK(point.check_violations.count == 0);
  CHECK(point.operations.total() == operations);
  CHECK(point.clients == clients);
  CHECK(point.server_work.served == operations);
  CHECK(point.server.threads == clients);
  REQUIRE(point.per_client.size() == clients);
  for (std::uint32_t c = 0; c < clients; ++c) CHECK(point.per_client[c].client == c);
}

}  // namespace

TEST_CASE("a run over every transport, point after point", "[hello]") {
  const auto transport = GENERATE(Transport::tcp, Transport::rc, Transport::uc, Transport::ud);
  const Scenario scenario = small_scenario(transport);
  LiveServer server;
  TestClient client(server);
  client->lead(scenario, 1);
  for (const std::uint32_t clients : {1U, 3U, 2U}) {
    require_whole(client.run_point(scenario, clients), 300, clients);
  }
  client->done();
  server.stop();
  CHECK(server.runs() == 1);
}

TEST_CASE("several processes make one result", "[hello]") {
  const auto transport = GENERATE(Transport::tcp, Transport::ud);
  const Scenario scenario = small_scenario(transport);
  const LiveServer server;
  Follower one(server);
  Follower two(server);
  TestClient leader(server);
  leader->lead(scenario, 3);
  require_whole(leader.run_point(scenario, 4), 300, 4);
  require_whole(leader.run_point(scenario, 3), 300, 3);
  leader->done();
  for (Follower* follower : {&one, &two}) {
    follower->end();
    REQUIRE(follower->points().size() == 2);
    require_whole(follower->points()[0], 300, 4);
    require_whole(follower->points()[1], 300, 3);
  }
}

TEST_CASE("another protocol version or other sizes are refused with both", "[hello]") {
  nlohmann::json hello = hello_with(small_scenario());
  hello["common_ground"]["protocol"] = control::protocol_version + 1;
  CHECK_THAT(refused(hello), Catch::Contains("speaks another version") && Catch::Contains("protocol"));
  hello = hello_with(small_scenario());
  hello["common_ground"]["request_header_bytes"] = 24;
  CHECK_THAT(refused(hello),
             Catch::Contains("request_header_bytes") && Catch::Contains("32") && Catch::Contains("24"));
}

TEST_CASE("a version that is no version is refused in few and printable words", "[hello]") {
  nlohmann::json hello = hello_with(small_scenario());
  hello["common_ground"]["protocol"] = std::string(1U << 20, '\x1b');
  CHECK(refused(hello).size() < 300);
}

TEST_CASE("a hello without versions is refused", "[hello]") {
  nlohmann::json hello = hello_with(small_scenario());
  hello["common_ground"] = GENERATE(nlohmann::json(3), nlohmann::json::array(), nlohmann::json(nullptr));
  CHECK_THAT(refused(hello), Catch::Contains("missing"));
}

TEST_CASE("a hello that lacks something is refused with its name", "[hello]") {
  const std::string field = GENERATE("common_ground", "scenario", "processes");
  nlohmann::json hello = hello_with(small_scenario());
  hello.erase(field);
  CHECK_THAT(refused(hello), Catch::Contains(field));
}

TEST_CASE("numbers of processes that make no sense are refused", "[hello]") {
  nlohmann::json hello = hello_with(small_scenario());
  hello["processes"] = GENERATE(nlohmann::json(0), nlohmann::json(-1), nlohmann::json(1000),
                                nlohmann::json("2"), nlohmann::json(1.5));
  CHECK_THAT(refused(hello), Catch::Contains("processes"));
}

TEST_CASE("a scenario that is none is refused with the place", "[hello]") {
  nlohmann::json hello = hello_with(small_scenario());
  hello["scenario"]["load"]["windoww"] = 3;
  CHECK_THAT(refused(hello), Catch::Contains("/load") && Catch::Contains("windoww"));
  hello["scenario"] = GENERATE(nlohmann::json(5), nlohmann::json::array(), nlohmann::json("tcp"));
  CHECK_THAT(refused(hello), Catch::Contains("scenario"));
}

TEST_CASE("a stranger who says nothing holds nobody up", "[hello]") {
  const LiveServer server;
  const control::Connection silent = server.dial();
  CHECK(serve_one(server).operations.total() == 300);
}

TEST_CASE("a second leader is refused while the first waits for its processes", "[hello]") {
  const LiveServer server;
  control::Connection first = server.dial();
  first.send(hello_with(small_scenario(), 2));
  control::Connection second = server.dial();
  second.send(hello_with(small_scenario()));
  CHECK_THAT(refusal(second), Catch::Contains("another run"));
}

TEST_CASE("a leader who dies while it waits makes room for the next", "[hello]") {
  const LiveServer server;
  {
    control::Connection first = server.dial();
    first.send(hello_with(small_scenario(), 2));
    // Let in, or the next would be first.
    control::Connection probe = server.dial();
    probe.send(hello_with(small_scenario()));
    CHECK_THAT(refusal(probe), Catch::Contains("another run"));
  }
  CHECK(serve_one(server).operations.total() == 300);
}

TEST_CASE("a joiner who dies while it waits is not counted", "[hello]") {
  const LiveServer server;
  const Scenario scenario = small_scenario();
  {
    control::Connection dead = server.dial();
    dead.send({{"common_ground", control::common_ground()}, {"join", true}});
  }
  Follower follower(server);
  TestClient leader(server);
  leader->lead(scenario, 2);
  require_whole(leader.run_point(scenario, 2), 300, 2);
  leader->done();
  follower.end();
  CHECK(follower.points().size() == 1);
}

TEST_CASE("joiners beyond what a run asked for wait for the next", "[hello]") {
  const LiveServer server;
  control::Connection early = server.dial();
  early.send({{"common_ground", control::common_ground()}, {"join", true}});
  CHECK(serve_one(server).clients == 2);
  TestClient leader(server);
  leader->lead(small_scenario(), 2);
  CHECK(answer(early).at("accepted").at("processes") == 2);
}

TEST_CASE("a leader who speaks while it waits is sent away", "[hello]") {
  const LiveServer server;
  control::Connection leader = server.dial();
  leader.send(hello_with(small_scenario(), 2));
  leader.send({{"point", 2}});
  CHECK_THAT(refusal(leader), Catch::Contains("out of turn"));
  CHECK(serve_one(server).operations.total() == 300);
}

TEST_CASE("an interrupted client stops waiting to be let in", "[hello]") {
  const LiveServer server;
  TestClient client(server);
  std::thread impatient([&] {
    std::this_thread::sleep_for(20ms);
    client.interrupt();
  });
  CHECK_THROWS_WITH(client->lead(small_scenario(), 2), Catch::Contains("interrupted"));
  impatient.join();
}

TEST_CASE("a stopped server ends while nobody is there", "[hello]") {
  LiveServer server;
  server.stop();
  CHECK(server.runs() == 0);
}
