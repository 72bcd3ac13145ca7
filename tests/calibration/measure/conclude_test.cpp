// From samples with known values to the profile's fields.
#include "calibration/measure/conclude.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/sim/profile/load.hpp"
#include "calibration/measure/describe.hpp"
#include "calibration/measure/names.hpp"

using namespace rkv::calibration;
using nlohmann::json;
using rkv::sim::Profile;

namespace {

constexpr double clock_read = 20;

Profile base() {
  return rkv::sim::load_profile(RKV_PROFILES "/local_soft0.json");
}

MachineFacts machine() {
  MachineFacts facts;
  facts.cpus.all = {0, 1};
  facts.cpus.second = 1;
  facts.cores_per_socket = 2;
  facts.virtual_machine = true;
  facts.last_level_cache_bytes = 480 << 20;
  facts.kernel_release = "6.1.0";
  return facts;
}

// Everything that a machine of two CPUs with soft0 gives. Timed ones hold a reading of the clock.
Samples all() {
  Samples s;
  s.add(sampled::clock_ghz, 3);
  s.add(sampled::clock_read, clock_read);
  s.add(sampled::walk(1 << 20), 5);
  s.add(sampled::walk(64 << 20), 50);
  s.add(sampled::line(16 << 10), 1.5);
  s.add(sampled::line(8 << 20), 19.5);  // 2 each doubling
  s.add(sampled::store_operation, 30);
  s.add(sampled::format_key, 40);
  s.add(sampled::copy_per_byte, 0.01);
  s.add(sampled::bandwidth_bytes_per_ns, 11);
  s.add(sampled::lock, 8);
  s.add(sampled::turns, 200);
  s.add(sampled::locks_and_turns, 400);
  s.add(sampled::system_call, 100);
  s.add(sampled::event_write, 300);
  s.add(sampled::event_read, 250);
  s.add(sampled::thread_switch, 900);
  s.add(sampled::thread_made, clock_read + 50'900);
  s.add(sampled::thread_begun, clock_read + 70'900);
  s.add(sampled::wake_write, clock_read + 1000);
  s.add(sampled::wake_event, clock_read + 6000);
  s.add(sampled::wake_futex, clock_read + 5000);
  s.add(sampled::halts_after, 11'250);
  s.add(sampled::read_before_halt, 29'250);
  s.add(sampled::wake_write_here, clock_read + 800);
  s.add(sampled::wake_preempting_here, clock_read + 3800);
  s.add(sampled::wake_write_busy, clock_read + 1800);
  s.add(sampled::wake_preempting, clock_read + 6800);
  s.add(sampled::lost_to_wake, 9000);
  s.add(sampled::wake_together, 2900);
  s.add(sampled::wake_apart, 6900);
  s.add(sampled::preempts_apart, 0.1);
  s.add(sampled::wake_beside, 3950);
  s.add(sampled::wake_crowded, 3200);
  s.add(sampled::wake_epoll_alone, 3100);
  s.add(sampled::wake_deadline_alone, 3300);
  s.add(sampled::wake_epoll_together, 4100);
  s.add(sampled::wake_deadline_together, 4550);
  s.add(sampled::tick, 4e6);
  s.add(sampled::background, 30);
  s.add(sampled::background_long, 2);
  s.add(sampled::background_run, 1.5e6);
  s.add(sampled::heavy_part, 0.4);
  s.add(sampled::heavy_weight, 9.3);
  s.add(sampled::long_changing, 0.05);
  s.add(sampled::slice(2), 3.9e6);
  for (const std::string transport : {"rc", "uc", "ud"}) {
    const double more = transport == "rc" ? 30 : 0;
    s.add(sampled::of(transport, sampled::post_receive), clock_read + 14);
    s.add(sampled::of(transport, sampled::post_send_small), clock_read + 164 + more);
    s.add(sampled::of(transport, sampled::post_send_large), clock_read + 164 + 1984 + more);
    s.add(sampled::of(transport, sampled::poll_receive), clock_read + 70);
    s.add(sampled::of(transport, sampled::poll_send), clock_read + 30);
    s.add(sampled::of(transport, sampled::empty_poll), 11);
    s.add(sampled::of(transport, sampled::arm), 16);
    s.add(sampled::of(transport, sampled::post_send_armed), clock_read + 324 + more);
    s.add(sampled::of(transport, sampled::take_event), clock_read + 500);
    s.add(sampled::of(transport, sampled::round_trip), clock_read + 600);
    s.add(sampled::of(transport, sampled::round_trip_unread), clock_read + 650);
    s.add(sampled::of(transport, sampled::round_trip_read), clock_read + 650 + 2 * 352 * 0.5 + more);
    s.add(sampled::of(transport, sampled::sends_apart), clock_read + 1000);
    s.add(sampled::of(transport, sampled::sends_together), clock_read + 1000 - 7 * 20);
    s.add(sampled::of(transport, sampled::receives_apart), clock_read + 100);
    s.add(sampled::of(transport, sampled::receives_together), clock_read + 100 - 7 * 6);
  }
  s.add(sampled::post_send_unreceived, clock_read + 45);
  s.add(sampled::post_send_waking, clock_read + 164 + 2000);
  s.add(sampled::event_round_trip, 18028);
  s.add(sampled::post_send_here, clock_read + 124);
  s.add(sampled::post_send_waking_here, clock_read + 624);
  s.add(sampled::poll_receive_here, clock_read + 40);
  s.add(sampled::event_together, 3550);
  s.add(sampled::run_together, 3500);
  s.add(sampled::run_crowded, 4400);
  s.add(sampled::tcp_send_small, clock_read + 100 + 64 + 900);
  s.add(sampled::tcp_send_large, clock_read + 100 + 16384 + 900);
  s.add(sampled::tcp_receive_small, clock_read + 100 + 64 + 170);
  s.add(sampled::tcp_receive_large, clock_read + 100 + 16384 + 170);
  s.add(sampled::tcp_empty_receive, 180);
  s.add(sampled::tcp_epoll, 270);
  s.add(sampled::tcp_round_trip, clock_read + 2000);
  s.add(sampled::tcp_event_round_trip, 24'000);
  s.add(sampled::tcp_event_more, 5'000);
  s.add(sampled::tcp_together, 5000);
  s.add(sampled::tcp_together_select, 5700);
  s.add(sampled::tcp_crowded, 5599);
  return s;
}

double value(const Findings& findings, const std::string& field) {
  std::string pointer = "/" + field;
  std::replace(pointer.begin(), pointer.end(), '.', '/');
  return findings.profile.at(json::json_pointer(pointer)).get<double>();
}

// Why the field is as in the base; empty when it was measured.
std::string why_left(const Findings& findings, const std::string& field) {
  for (const Left& left : findings.left) {
    if (std::count(left.fields.begin(), left.fields.end(), field) > 0) return left.why;
  }
  return "";
}

std::set<std::string> measured_fields(const Findings& findings) {
  std::set<std::string> fields;
  for (const Figure& figure : findings.figures) fields.insert(figure.fields.begin(), figure.fields.end());
  for (const Observation& one : findings.observations) fields.insert(one.field);
  return fields;
}

void add_leaves(const json& document, const std::string& at, std::set<std::string>& out) {
  if (!document.is_object()) {
    out.insert(at);
    return;
  }
  for (const auto& [name, inner] : document.items())
    add_leaves(inner, at.empty() ? name : at + "." + name, out);
}

Circumstances circumstances() {
  Circumstances given;
  given.machine = machine();
  given.run.machine = json::object();
  given.device = json::object();
  given.base = "local_soft0.json";
  return given;
}

}  // namespace

TEST_CASE("figures go into their fields, without what the measuring cost", "[calibration]") {
  const Findings findings = conclude(all(), machine(), true, base());
  CHECK(value(findings, "hosts.cpu.clock_ghz") == 3);
  CHECK(value(findings, "hosts.cpu.costs_measured_at_ghz") == 3);
  CHECK(value(findings, "hosts.program.clock_read_ns") == 20);
  CHECK(value(findings, "hosts.memory.store_operation_ns") == 30);
  CHECK(value(findings, "hosts.memory.format_key_ns") == 40);
  CHECK(value(findings, "hosts.memory.copy_ns_per_byte") == 0.01);
  CHECK(value(findings, "hosts.memory.bandwidth_bytes_per_ns") == 11);
  CHECK(value(findings, "hosts.memory.lock_ns") == 8);
  CHECK(value(findings, "hosts.memory.lock_hand_over_ns") == Approx(100 - 16));
  CHECK(value(findings, "hosts.scheduler.syscall_ns") == 100);
  CHECK(value(findings, "hosts.scheduler.switch_cost_ns") == 900);
  CHECK(value(findings, "hosts.scheduler.wake_cost_ns") == Approx(800 - 300));
  CHECK(value(findings, "hosts.scheduler.wake_idle_ns") == Approx(1000 - 800));
  CHECK(value(findings, "hosts.scheduler.halt_after_ns") == Approx(11'250 - 250));
  CHECK(value(findings, "hosts.scheduler.wakeup_before_halt_ns") == Approx(29'250 - 250));
  CHECK(value(findings, "hosts.scheduler.reschedule_ns") == Approx(6800 - 1800));
  CHECK(value(findings, "hosts.scheduler.reschedule_interrupt_ns") == Approx(9000 - (3800 - 800)));
  CHECK(value(findings, "hosts.scheduler.wake_elsewhere_ns") ==
        Approx(6900 - 2900 - 100 - 0.1 * (5000 + 6000)));
  CHECK(value(findings, "hosts.scheduler.wake_beside_ns") == Approx(3950 - 2900));
  CHECK(value(findings, "hosts.scheduler.run_queue_level_ns") == Approx((3200 - 2900) / 3.0));
  // Eight pairs: three levels of the run queue.
  CHECK(value(findings, "hosts.scheduler.fall_asleep_ns") == Approx(2900 - 800 - 250 - 900 - 300));
  CHECK(value(findings, "hosts.scheduler.timed_sleep_ns") == Approx(2 * 200));
  CHECK(value(findings, "hosts.scheduler.timed_sleep_among_ns") == Approx(2 * 450 - 400));
  CHECK(value(findings, "hosts.scheduler.tick_ns") == 4e6);
  // What 256 lines cost more behind 127 threads than behind 15, three doublings, over how much more waking as
  // in a run takes then, less the same by eventfds.
  CHECK(value(findings, "hosts.memory.lines_at_once") == Approx(256 * 6 / 600.0));
  const double back = 256 * 8 / (256 * 6 / 600.0);  // behind 15
  // Eight pairs by messages, less the same by eventfds without writing and reading (800, 250) but with two
  // looks (11), less the post (124, 30) and taking the message (500, 40, 14).
  const double soft_wake = 3550 - (2900 - 800 - 250 + 22) - 154 - 554 - back;
  CHECK(value(findings, "nic.soft_wake_ns") == Approx(soft_wake));
  // Half a round trip, less the receive that each side posts (14), less the post (164), writing the event,
  // the event without its system call (400) and the message (70).
  CHECK(value(findings, "hosts.scheduler.wakeup_latency_ns") ==
        Approx(9014 - 14 - 164 - soft_wake - 400 - 70));
  for (const std::string host : {"hosts.rc.", "hosts.uc.", "hosts.ud."}) {
    INFO(host);
    CHECK(value(findings, host + "post_receive_ns") == Approx(14));
    CHECK(value(findings, host + "poll_ns") == Approx((40 + 30) / 2));
    CHECK(value(findings, host + "empty_poll_ns") == Approx(11));
    CHECK(value(findings, host + "arm_ns") == Approx(16));
    CHECK(value(findings, host + "event_ns") == Approx(500 - 100 - 16));
    CHECK(value(findings, host + "post_send_ns") == Approx(host == "hosts.rc." ? 75 : 45));
    CHECK(value(findings, host + "post_chained_ns") == Approx(host == "hosts.rc." ? 55 : 25));
    CHECK(value(findings, host + "receive_chained_ns") == Approx(8));
  }
  CHECK(value(findings, "nic.soft_copy_ns_per_byte") == Approx(1));
  CHECK(value(findings, "nic.soft_transfer_ns") == Approx(124 - 64 - 45));
  CHECK(value(findings, "nic.soft_event_ns") == Approx(324 - 124));
  CHECK(value(findings, "nic.soft_elsewhere_ns") == Approx((164 - 124 + 70 - 40) / 2.0));
  CHECK(value(findings, "nic.soft_visible_ns") == Approx((600 - 14) / 2.0 - 164 - 70));
  // Over RC such messages took 30 more.
  CHECK(value(findings, "nic.soft_read_ns_per_byte") == Approx(0.5 + 30.0 / (3 * 2 * 352)));
}

TEST_CASE("where falling asleep is lost in the noise, what is made of whole wake-ups is so much less",
          "[calibration]") {
  const Findings before = conclude(all(), machine(), true, base());
  Samples samples = all();
  samples.add(sampled::thread_switch,
              900 + 2 * 700);  // the mean is 700 more; of 650 that falling asleep took
  const Findings after = conclude(samples, machine(), true, base());
  CHECK_THAT(why_left(after, "hosts.scheduler.fall_asleep_ns"), Catch::Contains("lost in the noise"));
  CHECK(value(after, "nic.soft_wake_ns") == Approx(value(before, "nic.soft_wake_ns") - 50));
  CHECK(value(after, "tcp.after_switch_ns") == Approx(value(before, "tcp.after_switch_ns") - 50));
}

TEST_CASE("round trips by events that the machine's host held up do not count", "[calibration]") {
  const MachineFacts facts = machine();
  Samples disturbed = all();
  for (const double round_trip : {18'028.0, 400'000.0}) disturbed.add(sampled::event_round_trip, round_trip);
  for (const double more : {5'000.0, -90'000.0}) disturbed.add(sampled::tcp_event_more, more);
  const Findings calm = conclude(all(), facts, true, base());
  const Findings findings = conclude(disturbed, facts, true, base());
  for (const char* field : {"hosts.scheduler.wakeup_latency_ns", "tcp.after_idle_ns"})
    CHECK(value(findings, field) == Approx(value(calm, field)));
}

TEST_CASE("TCP's calls are without the system call, and loopback's sum is divided as in the base",
          "[calibration]") {
  const Profile before = base();
  const Findings findings = conclude(all(), machine(), true, before);
  CHECK(value(findings, "tcp.ns_per_byte") == Approx(1));
  CHECK(value(findings, "tcp.receive_ns") == Approx(170));
  CHECK(value(findings, "tcp.empty_receive_ns") == Approx(80));
  CHECK(value(findings, "tcp.epoll_ns") == Approx(170));
  // Of two wake-ups one is by select(2).
  CHECK(value(findings, "tcp.select_ns") == Approx(2 * 700 - 100));
  // 299 ns beyond the same by eventfds: 127 lines find 298 ns more gone behind 127 threads than behind 15,
  // and 128 find 300.
  CHECK(value(findings, "tcp.switch_footprint_bytes") == 128 * 64);
  // Beyond what waking by eventfds takes without its calls (2900, 300, 250), the calls (1064, 334), and these
  // lines behind 15 threads, three doublings of what is measured.
  const double back = 128 * 6 / value(findings, "hosts.memory.lines_at_once");
  CHECK(value(findings, "tcp.after_switch_ns") == Approx(5000 - (2900 - 300 - 250) - 1064 - 334 - back));
  // Both calls, less half a round trip without the half look by which who spins is late.
  const double way = (2000 - 180) / 2.0;
  CHECK(value(findings, "tcp.early_ns") == Approx((100 + 64 + 900) + (100 + 64 + 170) - way));
  CHECK(value(findings, "tcp.elsewhere_ns") == 0);
  // Half of what such a round trip is longer between idle CPUs than one over UC, and what that takes beside
  // the wake-up; less the same way and waking (800 - 300).
  CHECK(value(findings, "tcp.after_idle_ns") ==
        Approx((18'028 + 5'000) / 2.0 - value(findings, "hosts.scheduler.wakeup_latency_ns") - way - 500));
  // A card's wake-up is known by itself.
  const Findings of_card = conclude(all(), machine(), false, before);
  CHECK(value(of_card, "tcp.after_idle_ns") ==
        Approx(24'000 / 2.0 - value(of_card, "hosts.scheduler.wakeup_latency_ns") - way - 500));
  const double send = value(findings, "tcp.send_ns");
  const double interrupt = value(findings, "tcp.soft_interrupt_ns");
  CHECK(send + interrupt == Approx(900));
  CHECK(send / interrupt ==
        Approx(static_cast<double>(before.tcp.send) / static_cast<double>(before.tcp.soft_interrupt)));
}

TEST_CASE("TCP costs more between CPUs where a round trip takes longer than its calls within one",
          "[calibration]") {
  Samples far = all();
  far.add(sampled::tcp_round_trip, clock_read + 4000);
  const Findings findings = conclude(far, machine(), true, base());
  const double way = (3000 - 180) / 2.0;  // the mean of both
  CHECK(value(findings, "tcp.elsewhere_ns") == Approx(way - (100 + 64 + 900) - (100 + 64 + 170)));
  CHECK(value(findings, "tcp.early_ns") == 0);
}

TEST_CASE("the walk's table is what was measured, and the base's beyond it", "[calibration]") {
  const json walk = conclude(all(), machine(), true, base()).profile.at("hosts").at("memory").at("walk");
  REQUIRE(walk.size() == 4);
  CHECK(walk[0] == json{{"working_set_bytes", 1 << 20}, {"entry_ns", 5.0}});
  CHECK(walk[1] == json{{"working_set_bytes", 64 << 20}, {"entry_ns", 50.0}});
  CHECK(walk[2] == json{{"working_set_bytes", 134217728}, {"entry_ns", 83.0}});
  CHECK(walk[3] == json{{"working_set_bytes", 536870912}, {"entry_ns", 98.0}});
}

TEST_CASE("what neighbours take from large stores while they are measured is taken off", "[calibration]") {
  Samples samples = all();
  samples.add(sampled::walk(8 << 20), 60);
  samples.add(sampled::walk_again(8 << 20), 30);
  const auto memory = [&] {
    return conclude(samples, machine(), true, base()).profile.at("hosts").at("memory");
  };
  const json of_nobody_knows = memory();
  CHECK(of_nobody_knows.at("walk")[1] == json{{"working_set_bytes", 8 << 20}, {"entry_ns", 60.0}});
  CHECK(of_nobody_knows.at("kept_ns") == 0);

  samples.add(sampled::kept, 3e6);
  samples.add(sampled::lost_entry, 150);
  const json of_many = memory();
  CHECK(of_many.at("kept_ns") == 3e6);
  CHECK(of_many.at("lost_entry_ns") == 150);
  // After 1 of 3 ms: 1 - 2.5 / e of them are lost.
  CHECK(of_many.at("walk")[1].at("entry_ns").get<double>() == Approx((30 - 0.080301 * 150) / (1 - 0.080301)));
  CHECK(of_many.at("walk")[0].at("entry_ns") == 5.0);  // not walked again
}

TEST_CASE("pauses that make no difference say that nobody takes the caches", "[calibration]") {
  Samples samples = all();
  samples.add(sampled::walk(8 << 20), 60);
  samples.add(sampled::walk_again(8 << 20), 30);
  for (const double kept : {0.0, 0.0, 9e6}) samples.add(sampled::kept, kept);
  samples.add(sampled::lost_entry, 150);
  Profile before = base();
  before.server.memory.kept = before.client.memory.kept = 1'000'000;
  const Findings findings = conclude(samples, machine(), true, before);
  CHECK(value(findings, "hosts.memory.kept_ns") == 0);
  CHECK_FALSE(why_left(findings, "hosts.memory.lost_entry_ns").empty());
  CHECK(findings.profile.at("hosts").at("memory").at("walk")[1].at("entry_ns") == 60.0);
}

TEST_CASE("every field of the profile was measured, told, or is left for a reason", "[calibration]") {
  const bool soft = GENERATE(true, false);
  const Profile before = soft ? base() : rkv::sim::load_profile(RKV_PROFILES "/das5.json");
  const Findings findings = conclude(all(), machine(), soft, before);
  std::set<std::string> fields;
  add_leaves(findings.profile, "", fields);
  const std::set<std::string> measured = measured_fields(findings);
  for (const std::string& field : fields) {
    INFO(field);
    CHECK(measured.contains(field) != !why_left(findings, field).empty());
  }
}

TEST_CASE("nothing measured leaves the base as it is", "[calibration]") {
  MachineFacts facts = machine();
  facts.all_cpus_usable = false;
  const Profile before = base();
  const Findings findings = conclude({}, facts, true, before);
  CHECK(findings.figures.empty());
  Profile after = rkv::sim::parse_profile(profile_text(findings, circumstances()), "after");
  after.name = before.name;
  after.description = before.description;
  CHECK(after == before);
}

TEST_CASE("what one machine cannot tell is not invented", "[calibration]") {
  Samples samples = all();
  samples.cannot(sampled::smt_beside, "no core shows two hardware threads here");
  const Findings findings = conclude(samples, machine(), true, base());
  CHECK(why_left(findings, "hosts.cpu.smt_throughput") == "no core shows two hardware threads here");
  CHECK_THAT(why_left(findings, "nic.qp_cache.miss_ns"), Catch::Contains("no card"));
  CHECK_THAT(why_left(findings, "hosts.memory.cache_bytes"), Catch::Contains("virtual machine"));
  CHECK_THAT(why_left(findings, "network.link_latency_ns"), Catch::Contains("no network"));
  const std::string table = table_of(findings, circumstances());
  CHECK_THAT(table, Catch::Contains("no core shows two hardware threads here"));
  CHECK_THAT(table, Catch::Contains("hosts.scheduler.syscall_ns"));
}

TEST_CASE("a difference that the noise swallowed is left, with what came out", "[calibration]") {
  Samples samples = all();
  for (int i = 0; i < 9; ++i) samples.add(sampled::locks_and_turns, 210);
  const Findings findings = conclude(samples, machine(), true, base());
  CHECK_THAT(why_left(findings, "hosts.memory.lock_hand_over_ns"), Catch::Contains("noise"));
  CHECK(value(findings, "hosts.memory.lock_hand_over_ns") == 100);
}

TEST_CASE("a card's posts are less the base's doorbell", "[calibration]") {
  const Profile before = rkv::sim::load_profile(RKV_PROFILES "/das5.json");
  const Findings findings = conclude(all(), machine(), false, before);
  const double doorbell = static_cast<double>(before.nic.doorbell) / 1000;
  CHECK(value(findings, "hosts.uc.post_send_ns") == Approx(164 - doorbell));
  CHECK(value(findings, "hosts.scheduler.wakeup_latency_ns") == Approx(5000));
  CHECK_FALSE(why_left(findings, "nic.soft_transfer_ns").empty());
}

TEST_CASE("slices that other programs disturbed tell nothing of the tick's jitter", "[calibration]") {
  Samples calm = all();
  for (int i = 0; i < 8; ++i) calm.add(sampled::slice(2), i % 2 == 0 ? 3.8e6 : 4e6);
  CHECK(value(conclude(calm, machine(), true, base()), "hosts.scheduler.tick_jitter_ns") > 1e5);
  Samples disturbed = all();
  for (int i = 0; i < 8; ++i) disturbed.add(sampled::slice(2), i % 2 == 0 ? 2e6 : 5e6);
  const Findings findings = conclude(disturbed, machine(), true, base());
  CHECK_THAT(why_left(findings, "hosts.scheduler.tick_jitter_ns"), Catch::Contains("other programs"));
  CHECK(value(findings, "hosts.scheduler.tick_jitter_ns") <= 1e6);
}

TEST_CASE("what a thread touches is two thirds of the first-level cache, where Linux tells it",
          "[calibration]") {
  MachineFacts facts = machine();
  const std::string field = "hosts.scheduler.switch_footprint_bytes";
  CHECK_THAT(why_left(conclude(all(), facts, true, base()), field), Catch::Contains("first-level cache"));
  facts.first_level_cache_bytes = 96 << 10;
  CHECK(value(conclude(all(), facts, true, base()), field) == 64 << 10);
  CHECK_THAT(why_left(conclude(all(), facts, false, base()), field), Catch::Contains("lines_at_once"));
}

TEST_CASE("EEVDF's slice is changed only when the slices contradict it", "[calibration]") {
  MachineFacts facts = machine();
  facts.kernel_release = "6.12.1";
  const Findings agreeing = conclude(all(), facts, true, base());
  CHECK(agreeing.profile.at("hosts").at("scheduler").at("kind") == "eevdf");
  CHECK(agreeing.profile.at("hosts").at("scheduler").at("packs_cpus") == false);
  facts.packs_cpus = true;
  CHECK(conclude(all(), facts, true, base()).profile.at("hosts").at("scheduler").at("packs_cpus") == true);
  CHECK(agreeing.profile.at("hosts").at("scheduler").at("grouped") == false);
  facts.autogroups = true;
  CHECK(conclude(all(), facts, true, base()).profile.at("hosts").at("scheduler").at("grouped") == false);
  facts.kernel_release = "6.13.0";
  CHECK(conclude(all(), facts, true, base()).profile.at("hosts").at("scheduler").at("grouped") == true);
  CHECK(value(agreeing, "hosts.scheduler.slice_ns") == 1.5e6);
  Samples longer = all();
  for (int i = 0; i < 9; ++i) longer.add(sampled::slice(2), 7.9e6);
  CHECK(value(conclude(longer, facts, true, base()), "hosts.scheduler.slice_ns") == 6e6);
}

TEST_CASE("the profile's text says where it is from and loads as a profile", "[calibration]") {
  Circumstances given = circumstances();
  given.quick = true;
  given.run.host_name = "somewhere";
  const std::string text = profile_text(conclude(all(), machine(), true, base()), given);
  const Profile profile = rkv::sim::parse_profile(text, "made");
  CHECK(profile.server == profile.client);
  CHECK_THAT(profile.description, Catch::Contains("somewhere") && Catch::Contains("smoke test") &&
                                      Catch::Contains("nic.soft_wake_ns"));
}
