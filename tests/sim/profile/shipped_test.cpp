// The profiles that come with rkv.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/sim/profile/load.hpp"

using rkv::sim::Profile;

TEST_CASE("every profile that comes with rkv loads, says what it is and reads back as itself", "[sim]") {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(RKV_PROFILES)) {
    const std::string file = entry.path().filename().string();
    if (!file.ends_with(".json") || file == "profile.schema.json") {
      continue;
    }
    INFO(file);
    const Profile profile = rkv::sim::load_profile(entry.path());
    names.insert(profile.name);
    CHECK(profile.description.size() > 200);
    CHECK(rkv::sim::parse_profile(rkv::sim::to_json(profile).dump(), "again") == profile);
  }
  CHECK(names == std::set<std::string>{"connect_ib", "connect_ib_fitted", "connectx3", "connectx3_fitted",
                                       "connectx_ddr", "connectx6", "connectx6_fitted", "das5", "das5_fitted",
                                       "local_soft0", "modern_100g"});
}

TEST_CASE("DAS-5's nodes have what the thesis says", "[sim]") {
  const Profile profile = rkv::sim::load_profile(RKV_PROFILES "/das5.json");
  CHECK(profile.server == profile.client);
  CHECK(profile.server.cpu.sockets * profile.server.cpu.cores_per_socket == 16);
  CHECK(profile.server.cpu.smt_ways == 2);
  CHECK(profile.server.cpu.clock_ghz == 2.4);
  CHECK(profile.server.scheduler.kind == rkv::sim::SchedulerProfile::Kind::cfs);
  CHECK(profile.server.scheduler.tick == 1'000'000'000);
  CHECK(profile.server.scheduler.interrupt_cpu == 0);
  CHECK_FALSE(profile.network.one_host);
}

TEST_CASE("soft0's profile is one host with soft0's limits", "[sim]") {
  const Profile profile = rkv::sim::load_profile(RKV_PROFILES "/local_soft0.json");
  CHECK(profile.network.one_host);
  CHECK(profile.nic.kind == rkv::sim::NicProfile::Kind::soft);
  CHECK(profile.nic.inline_bytes == 1024);
  CHECK(profile.nic.completion_queue_depth == 1U << 20);
}
