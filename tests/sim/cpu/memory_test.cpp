// Costs of the store's work, worked out by hand.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/sim/sim_threads.hpp"

namespace rkv::sim::test {
namespace {

MemoryProfile profile_with(std::vector<MemoryProfile::CostAtSize> walk) {
  MemoryProfile profile;
  profile.walk = std::move(walk);
  profile.cache_bytes = 1'000'000;
  profile.bytes_an_entry = 128;
  profile.bandwidth_bytes_per_ns = 12.8;
  profile.banks = 10;
  profile.bank_cycle = 100 * ns;
  profile.remote_socket_factor = 1.5;
  profile.copy_ns_per_byte = 0.25;
  profile.format_key = 40 * ns;
  profile.store_operation = 30 * ns;
  return profile;
}

TEST_CASE("an entry's cost lies on a line over the logarithm of the working set") {
  World world(1);
  const Memory memory(world, profile_with({{1'024, 2 * ns}, {4'096, 6 * ns}, {65'536, 10 * ns}}), 1);
  CHECK(memory.entry_cost(1) == 2 * ns);
  CHECK(memory.entry_cost(1'024) == 2 * ns);
  CHECK(memory.entry_cost(2'048) == 4 * ns);  // half way in the logarithm
  CHECK(memory.entry_cost(4'096) == 6 * ns);
  CHECK(memory.entry_cost(16'384) == 8 * ns);
  CHECK(memory.entry_cost(1'000'000'000) == 10 * ns);
}

// Of a CPU each, on which nothing but walking costs anything: 8 ns an entry, half as much again where it is
// remote.
Profile two_sockets_to_walk() {
  Profile profile = free_profile(2);
  profile.server.cpu.sockets = 2;
  profile.server.cpu.cores_per_socket = 1;
  profile.server.memory = profile_with({{1'024, 8 * ns}});
  profile.server.memory.store_operation = 0;
  return profile;
}

TEST_CASE("entries lie where they were made, and those of other sockets cost more") {
  Simulation simulation(two_sockets_to_walk());
  std::vector<Ps> times;
  simulation.run([&] {
    SimRuntime runtime(simulation, simulation.host(0));
    const auto walk = [&](int cpu) {
      const auto thread = runtime.spawn({.name = "walker", .cores = {cpu}}, [&] {
        const Ps begun = simulation.world().now();
        runtime.charge({.entries_walked = 100, .working_set_bytes = 1'024});
        simulation.world().current()->flush();
        times.push_back(simulation.world().now() - begun);
      });
      thread->join();
    };
    walk(0);
    walk(1);
    walk(1);
  });
  CHECK(times[0] == 100 * 8 * ns);                                      // it made them all
  CHECK(times[1] == 100 * 10 * ns);                                     // half of them, at 1.5 times
  CHECK(times[2] == std::llround(100 * 8 * ns * (1 + 0.5 * 1 / 3.0)));  // a third
  CHECK(simulation.host(0).memory().walked() == std::vector<double>{100, 200});
}

TEST_CASE("where entries lie goes on from a stage of a run") {
  Simulation simulation(two_sockets_to_walk());
  Memory& memory = simulation.host(0).memory();
  memory.set_walked({300, 100});
  CHECK(memory.socket_of_an_entry(0.74) == 0);
  CHECK(memory.socket_of_an_entry(0.76) == 1);
  Ps time = 0;
  simulation.run([&] {
    SimRuntime runtime(simulation, simulation.host(0));
    const auto thread = runtime.spawn({.name = "walker", .cores = {1}}, [&] {
      runtime.charge({.entries_walked = 100, .working_set_bytes = 1'024});
      simulation.world().current()->flush();
      time = simulation.world().now();
    });
    thread->join();
  });
  CHECK(time == std::llround(100 * 8 * ns * (1 + 0.5 * 300 / 500.0)));
}

TEST_CASE("a walk past the caches waits for what others read from memory lately") {
  Profile profile = free_profile(3);
  profile.server.memory = profile_with({{1'024, 8 * ns}});
  Simulation simulation(profile);
  std::vector<Ps> times;
  const std::uint64_t working_set = GENERATE(1'000'000, 2'000'000);
  simulation.run([&] {
    SimRuntime runtime(simulation, simulation.host(0));
    const auto walk = [&] {
      const Ps begun = simulation.world().now();
      runtime.charge({.entries_walked = 50'000,
                      .bytes_copied = 400,
                      .working_set_bytes = working_set,
                      .keys_formatted = 1});
      simulation.world().current()->flush();
      times.push_back(simulation.world().now() - begun);
    };
    const auto after = [&](Ps time) {
      return [&, time] {
        runtime.sleep_until(to_instant(time), *runtime.make_stop_flag());
        walk();
      };
    };
    run_threads(runtime, {walk, walk, after(3 * ms)});
  });
  // 50,000 entries of 8 ns, 30 ns for the operation, 400 bytes of 0.25 ns, 40 ns for the key.
  constexpr Ps alone = 400 * us + 30 * ns + 100 * ns + 40 * ns;
  CHECK(times[0] == alone);
  if (working_set == 1'000'000) {
    CHECK(times[1] == alone);
    CHECK(times[2] == alone);
    return;
  }
  // Half of the entries are in the cache. The others' 3.2 MB are a quarter of what the memory gives in 1 ms,
  // and each entry's 128 bytes take it 10 ns. Their 50,000 lines keep ten banks busy for half of it.
  CHECK(times[1] == alone + std::llround(25'000 * (10 * ns * 0.25 / 0.75 + 2 * 100 * ns * 0.5 / (2 * 0.5))));
  // Twice as much, of which after 3 ms so much counts:
  const double left = 2 * std::exp(-3.0);
  const double bus = 0.25 * left;
  const double banks = 0.5 * left;
  CHECK(times[2] == alone + std::llround(25'000 * (10 * ns * bus / (1 - bus) +
                                                   2 * 100 * ns * banks / (2 * (1 - banks)))));
}

TEST_CASE("entries that are not walked for a while are lost to those who use the same caches") {
  Profile profile = two_sockets_to_walk();
  profile.server.memory.kept = 3 * ms;
  profile.server.memory.lost_entry = 108 * ns;
  const bool larger = GENERATE(true, false);
  if (!larger) profile.server.memory.lost_entry = 5 * ns;  // than what is in the caches: no less
  Simulation simulation(profile);
  std::vector<Ps> times;
  simulation.run([&] {
    SimRuntime runtime(simulation, simulation.host(0));
    const auto thread = runtime.spawn({.name = "walker", .cores = {0}}, [&] {
      for (const Ps at : {Ps{0}, 3 * ms, 4 * ms}) {
        runtime.sleep_until(to_instant(at), *runtime.make_stop_flag());
        const Ps begun = simulation.world().now();
        runtime.charge({.entries_walked = 500, .working_set_bytes = 128'000});
        simulation.world().current()->flush();
        times.push_back(simulation.world().now() - begun);
      }
    });
    thread->join();
  });
  CHECK(times[0] == 4 * us);
  if (!larger) {
    CHECK(times[1] == 4 * us);
    CHECK(times[2] == 4 * us);
    return;
  }
  // Three steps in 3 ms, of each of the 1000 entries.
  const auto more = [](double lost) { return std::llround(500 * 8 * ns + 500 * lost * 100 * ns); };
  const double stay = std::exp(-3.0);
  CHECK(times[1] == more(1 - stay * (1 + 3 + 4.5)));
  // All but e^-0.5 of them are walked by 500 walks. One step in 1 ms.
  const double untouched = std::exp(-0.5);
  const double fresh = 1 - untouched * (1 - stay);
  const double older = untouched * 3 * stay;
  const double oldest = untouched * 4.5 * stay;
  CHECK(times[2] == more(1 - std::exp(-1.0) * (fresh + (older + fresh) + (oldest + older + fresh / 2))));
}

}  // namespace
}  // namespace rkv::sim::test
