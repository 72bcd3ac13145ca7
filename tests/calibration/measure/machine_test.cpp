#include "calibration/measure/machine.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace rkv::calibration;

TEST_CASE("sizes of caches as the kernel writes them", "[calibration]") {
  CHECK(parse_cache_size("48K") == 48 << 10);
  CHECK(parse_cache_size("480M") == 480 << 20);
  CHECK(parse_cache_size("") == 0);
  CHECK(parse_cache_size("K") == 0);
  CHECK(parse_cache_size("12KiB") == 0);
}

TEST_CASE("Linux has EEVDF from 6.6 on", "[calibration]") {
  CHECK_FALSE(has_eevdf("5.15.0-91-generic"));
  CHECK_FALSE(has_eevdf("6.1.0-18-amd64"));
  CHECK(has_eevdf("6.6.0"));
  CHECK(has_eevdf("6.18.44"));
  CHECK(has_eevdf("7.0"));
  CHECK_FALSE(has_eevdf("none"));
}

TEST_CASE("Linux places groups anew by their lag from 6.13 on", "[calibration]") {
  CHECK_FALSE(reweighs_by_lag("6.12.63+deb13-amd64"));
  CHECK(reweighs_by_lag("6.13.0"));
  CHECK(reweighs_by_lag("6.18.44"));
  CHECK(reweighs_by_lag("7.0"));
  CHECK_FALSE(reweighs_by_lag(""));
}

TEST_CASE("whether a kernel packs CPUs is on its command line", "[calibration]") {
  CHECK(packs_cpus("console=ttyS0 sched_vcpu_pack=15 quiet\n"));
  CHECK_FALSE(packs_cpus("console=ttyS0 sched_vcpu_pack=0"));
  CHECK_FALSE(packs_cpus("no_sched_vcpu_pack=15"));
  CHECK_FALSE(packs_cpus(""));
}

TEST_CASE("the CPUs to measure on are different ones that may be used", "[calibration]") {
  const MachineFacts facts = machine_facts();
  const auto usable = [&](int cpu) {
    return std::count(facts.cpus.all.begin(), facts.cpus.all.end(), cpu) == 1;
  };
  CHECK(usable(facts.cpus.first));
  for (const auto& other : {facts.cpus.second, facts.cpus.sibling}) {
    if (!other) continue;
    CHECK(usable(*other));
    CHECK(*other != facts.cpus.first);
  }
  CHECK(facts.sockets >= 1);
  CHECK(facts.cores_per_socket >= 1);
  CHECK(facts.smt_ways >= 1);
}
