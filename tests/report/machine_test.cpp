#include "core/report/machine.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "core/report/version.hpp"

using namespace rkv;

TEST_CASE("sockets, cores and threads are counted from /proc/cpuinfo") {
  std::string text;
  for (int cpu = 0; cpu < 8; ++cpu) {  // two sockets of two cores of two threads
    text += "processor\t: " + std::to_string(cpu) +
            "\nmodel name\t: Some CPU @ 2.40GHz\nphysical id\t: " + std::to_string(cpu / 4) +
            "\ncore id\t\t: " + std::to_string(cpu % 2) + "\nflags\t\t:\n\n";
  }
  const auto machine = parse_cpuinfo(text);
  CHECK(machine.cpu_model == "Some CPU @ 2.40GHz");
  CHECK(machine.sockets == 2);
  CHECK(machine.cores == 4);
  CHECK(machine.threads == 8);
}

TEST_CASE("a machine that tells less has less in its description") {
  const auto machine = parse_cpuinfo("processor : 0\nBogoMIPS : 50\nprocessor : 1");
  CHECK(machine.cpu_model == "unknown");
  CHECK(machine.sockets == 1);
  CHECK(machine.cores == 2);
  CHECK(machine.threads == 2);
  CHECK(parse_cpuinfo("").threads == 0);
}

TEST_CASE("this machine has a CPU, memory and a kernel") {
  const auto json = to_json(this_machine());
  CHECK(json["threads"] > 0);
  CHECK(json["memory_bytes"] > 1'000'000);
  CHECK_THAT(json["kernel"].get<std::string>(), Catch::StartsWith("Linux "));
}

TEST_CASE("the program knows its version") {
  CHECK_THAT(std::string(program_version()), Catch::StartsWith("0."));
}
