// Of which points windows are taken.
#include <catch2/catch.hpp>

#include "backends/sim/run/windows_tell.hpp"
#include "tests/sim/run/thesis_run.hpp"

namespace rkv::sim::test {
namespace {

// Two sockets of four cores, each of two CPUs.
Profile sixteen_cpus() {
  Profile profile = with_cpus(2, 4, 2);
  for (HostProfile* host : {&profile.server, &profile.client}) host->scheduler.wake_to_interrupt = true;
  return profile;
}

}  // namespace

TEST_CASE("windows tell while threads have a CPU each, those that poll a core", "[sampling]") {
  const Profile profile = sixteen_cpus();
  const auto tell = [&](CompletionMode mode, std::uint32_t count) {
    return windows_tell(thesis_run(Transport::uc, mode), profile, count);
  };
  CHECK(tell(CompletionMode::event, 16));
  CHECK_FALSE(tell(CompletionMode::event, 17));
  CHECK(tell(CompletionMode::busy, 8));
  CHECK_FALSE(tell(CompletionMode::busy, 9));
  Scenario verbs = thesis_run(Transport::uc, CompletionMode::busy);
  verbs.workload = Workload::verbs;
  CHECK_FALSE(windows_tell(verbs, profile, 1));
}

TEST_CASE("history decides where interrupts draw the threads of three clients and more", "[sampling]") {
  Profile profile = sixteen_cpus();
  const auto decide = [&](CompletionMode mode, std::uint32_t count) {
    return history_decides(thesis_run(Transport::uc, mode), profile, count);
  };
  CHECK_FALSE(decide(CompletionMode::event, 2));
  CHECK(decide(CompletionMode::event, 3));
  CHECK(decide(CompletionMode::event, 16));
  CHECK_FALSE(decide(CompletionMode::busy, 4));
  profile.server.scheduler.wake_to_interrupt = false;
  CHECK(decide(CompletionMode::event, 4));
  profile.client.scheduler.wake_to_interrupt = false;
  CHECK_FALSE(decide(CompletionMode::event, 4));
}

TEST_CASE("history decides where clients that poll wait long for their turn at a card", "[sampling]") {
  Profile profile = sixteen_cpus();
  profile.nic.processing_units = 1;
  profile.nic.rc = {.send = 60'000, .receive = 60'000, .ack = 30'000, .take_ack = 3'850'000};
  const auto decides = [&](Transport transport, CompletionMode mode, std::uint32_t count) {
    return history_decides(thesis_run(transport, mode), profile, count);
  };
  CHECK_FALSE(decides(Transport::rc, CompletionMode::busy, 7));  // 28 us
  CHECK(decides(Transport::rc, CompletionMode::busy, 8));        // 32 us
  CHECK_FALSE(decides(Transport::uc, CompletionMode::busy, 8));
  profile.nic.processing_units = 2;
  CHECK_FALSE(decides(Transport::rc, CompletionMode::busy, 8));
}

}  // namespace rkv::sim::test
