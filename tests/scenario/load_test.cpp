#include "core/scenario/load.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/message/sizes.hpp"
#include "core/scenario/overrides.hpp"
#include "tests/support/temporary_file.hpp"

using rkv::TemporaryFile;
using namespace std::chrono_literals;

TEST_CASE("values of a file reach the scenario, in their units") {
  const TemporaryFile file("my study.json", R"({
    "transport": "ud", "completion": {"mode": "hybrid", "spin_us": 2.5}, "clients": [1, 4],
    "load": {"duration_s": 1.5, "connect_pause_ms": 1000, "start_stagger_ms": 0.1, "stay_until_all_end": true, "think_time_us": 0.25, "window": 3,
             "turns": {"clients": 3, "length_us": 0.5e3, "overlap_us": 1.5}},
    "retry": {"timeout_ms": 12}, "device": {"gid_index": 3, "doorbell_registers": 32}, "server": {"cores": [1, 0], "bind_each": true}})");
  const rkv::Scenario scenario = rkv::load_scenario(file.path());
  CHECK(scenario.name == "my_study");
  CHECK(scenario.transport == rkv::Transport::ud);
  CHECK(scenario.exchange == rkv::Exchange::send_send);
  CHECK(scenario.completion.mode == rkv::CompletionMode::hybrid);
  CHECK(scenario.completion.spin == 2500ns);
  CHECK(&rkv::client_policy(scenario) == &scenario.completion);
  CHECK(scenario.clients == std::vector<std::uint32_t>{1, 4});
  CHECK(scenario.load.duration == 1500ms);
  CHECK(scenario.load.total_operations == 0);
  CHECK(scenario.load.connect_pause == 1s);
  CHECK(scenario.load.start_stagger == 100us);
  CHECK(scenario.load.stay_until_all_end);
  CHECK(scenario.load.think_time == 250ns);
  CHECK(scenario.load.window == 3);
  CHECK(scenario.load.turns == rkv::TurnOptions{.clients = 3, .length = 500us, .overlap = 1500ns});
  CHECK(scenario.retry.timeout == 12ms);
  CHECK(scenario.retry.retries == 5);
  CHECK(scenario.device.gid_index == 3U);
  CHECK(scenario.device.doorbell_registers == 32U);
  CHECK(scenario.server.cores == std::vector<int>{1, 0});
  CHECK(scenario.server.bind_each);
  CHECK(cores_of_thread(scenario.server, 4) == std::vector<int>{1});
  CHECK(cores_of_thread(scenario.client, 4).empty());
}

TEST_CASE("a waiter's event before its look is the thesis's, not the default") {
  const TemporaryFile file("events.json", R"({"transport": "uc", "completion": {"mode": "event_batch"},
    "client_completion": {"mode": "event", "await_event": true}, "load": {"total_operations": 1}})");
  const rkv::Scenario scenario = rkv::load_scenario(file.path());
  CHECK_FALSE(scenario.completion.await_event);
  CHECK(rkv::client_policy(scenario).await_event);
}

TEST_CASE("the command line overrides a file") {
  const TemporaryFile file("base.json",
                           R"({"load": {"total_operations": 1000}, "retry": {"retries": 2}, "clients": 3})");
  const rkv::Scenario scenario = rkv::load_scenario(
      file.path(),
      {"queue_pair.receive_depth=32", "/load/window=8", "transport=ud", "retry.retries=null", "name=7",
       "load.total_operations=1e6", "description=a = b", "server.cores=[0,1]"},
      {1, 2, 4});
  CHECK(scenario.queue_pair.receive_depth == 32);
  CHECK(scenario.load.window == 8);
  CHECK(scenario.transport == rkv::Transport::ud);
  CHECK(scenario.retry.retries == 5);
  CHECK(scenario.name == "7");
  CHECK(scenario.load.total_operations == 1'000'000);
  CHECK(scenario.description == "a = b");
  CHECK(scenario.server.cores == std::vector<int>{0, 1});
  CHECK(scenario.clients == std::vector<std::uint32_t>{1, 2, 4});
}

TEST_CASE("an override that can't be is refused with the place and what was typed") {
  const TemporaryFile file("base.json", R"({"load": {"total_operations": 1000}})");
  const auto with = [&](const char* option) {
    return [&file, option] { rkv::load_scenario(file.path(), {option}); };
  };
  const auto says = [](const char* text) { return Catch::Contains(text); };
  const std::string path = file.path().string();
  CHECK_THROWS_WITH(
      with("queue_pair.depth=1")(),
      says("/queue_pair/depth: unknown field \"depth\"; allowed in /queue_pair: allow_receive_overrun") &&
          says("(set by --set queue_pair.depth=1)") && Catch::StartsWith(path));
  CHECK_THROWS_WITH(with("queue.pair.x=1")(),
                    says("/queue/pair/x: unknown field \"queue\"; allowed in /: check"));
  CHECK_THROWS_WITH(with("seed.x=1")(), says("unknown field \"x\": /seed has no fields"));
  CHECK_THROWS_WITH(with("clients.0=1")(), says("/clients has no fields; set it as a whole"));
  CHECK_THROWS_WITH(with("load.window=many")(),
                    says("/load/window: given \"many\"; allowed: a whole number from 1 to 4096") &&
                        says("(set by --set load.window=many)"));
  CHECK_THROWS_WITH(with("seed")(), says("--set seed: not of the form path=value"));
  CHECK_THROWS_WITH(with("=1")(), says("not of the form path=value"));
  CHECK_THROWS_WITH(with("/seed~2=1")(), says("not a JSON pointer"));
  CHECK_THROWS_WITH(rkv::load_scenario(file.path(), {"load=3", "load.window=2"}),
                    says("/load/window: can't be set"));
  CHECK_THROWS_WITH(rkv::load_scenario(file.path(), {"sed=1", "load.window=0"}),
                    says("/sed: unknown field") && says("/load/window: given 0"));
  CHECK_THROWS_WITH(rkv::load_scenario(file.path(), {}, {70000}),
                    says("/clients/0: given 70000") && says("--clients"));
}

TEST_CASE("a list of clients is read from the command line") {
  CHECK(rkv::parse_client_list("1,2,64") == std::vector<std::uint32_t>{1, 2, 64});
  for (const char* const bad : {"", "1,", ",1", "1;2", "0", "-1", "1, 2", "99999999999"}) {
    INFO(bad);
    CHECK_THROWS_AS(rkv::parse_client_list(bad), rkv::InputError);
  }
}

TEST_CASE("a file that isn't there is named") {
  CHECK_THROWS_WITH(rkv::load_scenario("/nowhere/x.json"),
                    Catch::StartsWith("/nowhere/x.json: no such scenario file"));
}

TEST_CASE("a sweep makes every combination, each with its own name") {
  const TemporaryFile file("sweep.json", R"({"load": {"total_operations": 1000},
    "sweep": {"queue_pair.signal_interval": [1, 4, 16], "completion.mode": ["busy", "event"]}})");
  const std::vector<rkv::Scenario> scenarios = rkv::expand(file.path());
  REQUIRE(scenarios.size() == 6);
  CHECK(scenarios[0].name == "sweep-mode=busy-signal_interval=1");
  CHECK(scenarios[5].name == "sweep-mode=event-signal_interval=16");
  CHECK(scenarios[5].completion.mode == rkv::CompletionMode::event);
  CHECK(scenarios[5].queue_pair.signal_interval == 16);
  CHECK_THROWS_WITH(rkv::load_scenario(file.path()),
                    Catch::Contains("/sweep: makes 6 scenarios where one is needed"));
  CHECK(rkv::load_scenario(file.path(), {"sweep=null"}).name == "sweep");
  CHECK(rkv::expand(file.path(), {R"(sweep={"seed":[1,2,3]})"}).size() == 3);
}

TEST_CASE("a sweep that makes no sense is refused") {
  const auto refused = [](const char* sweep, const char* says) {
    const TemporaryFile file("s.json",
                             std::string(R"({"load": {"total_operations": 10}, "sweep": )") + sweep + "}");
    INFO(sweep);
    CHECK_THROWS_WITH(rkv::expand(file.path()), Catch::Contains(says));
  };
  refused(R"({"seeds": [1]})", "/sweep/seeds: not a field that can be swept");
  refused(R"({"clients": [1]})", "/sweep/clients: clients is a list of points already");
  refused(R"({"name": ["a"]})", "/sweep/name: not a field");
  refused(R"({"seed": 1})", "/sweep/seed: given 1; allowed: a list");
  refused(R"({"seed": []})", "/sweep/seed: given []");
  refused(R"({})", "/sweep: given {}");
  refused(R"([1])", "/sweep: given [1]");
  refused(R"({"seed": [1, "x"]})", "/seed: given \"x\"");
  refused(R"({"load.window": [1, 40]})", "/queue_pair/receive_depth: given 16 for a window of 40");
}

TEST_CASE("a preset fills in what is not given") {
  const auto with = [](const std::string& fields) {
    return rkv::parse_scenario(R"({"load": {"total_operations": 10}, )" + fields + "}", "test");
  };
  const rkv::Scenario b = with(R"("preset": "ycsb_b")");
  CHECK(b.operations == rkv::OperationMix{95, 5, 0, 0});
  CHECK(b.keys.distribution == rkv::KeyOptions::Distribution::zipf);
  CHECK(b.keys.theta == 0.99);
  CHECK(b.key_size.bytes == 23);
  CHECK(b.value_size.bytes == 1000);
  CHECK(rkv::largest_request_bytes(b.message) == 32 + 23 + 1000);

  const rkv::Scenario changed =
      with(R"("preset": "ycsb_a", "keys": {"distribution": "uniform"}, "operations": {"get": 80})");
  CHECK(changed.keys.distribution == rkv::KeyOptions::Distribution::uniform);
  CHECK(changed.operations == rkv::OperationMix{80, 50, 0, 0});

  CHECK(with(R"("preset": "ycsb_c")").operations == rkv::OperationMix{100, 0, 0, 0});
  CHECK(with(R"("preset": "ycsb_d")").keys.distribution == rkv::KeyOptions::Distribution::latest);
  CHECK(with(R"("preset": "ycsb_f")").operations.read_modify_write == 50);
  CHECK(with(R"("preset": "thesis")").keys.distribution == rkv::KeyOptions::Distribution::thesis);

  const rkv::Scenario etc = with(R"("preset": "etc")");
  CHECK(etc.key_size.kind == rkv::SizeDistribution::Kind::generalised_extreme_value);
  CHECK(etc.value_size.discrete_bytes.size() == 15);
  CHECK(etc.value_size.largest_bytes() == 4096);
  CHECK(etc.value_size.smallest_bytes() == 0);
}

TEST_CASE("the thesis's messages have its sizes") {
  const rkv::Scenario thesis =
      rkv::parse_scenario(R"({"preset": "thesis", "load": {"total_operations": 10}})", "test");
  CHECK(rkv::largest_request_bytes(thesis.message) == 352);
  CHECK(rkv::largest_response_bytes(thesis.message) == 272);
  CHECK(rkv::largest_key_bytes(thesis) == 49);
  CHECK(rkv::largest_value_bytes(thesis) == 53);
}
