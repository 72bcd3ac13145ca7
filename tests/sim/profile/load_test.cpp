// Values of files, of files under them and of the command line reach the profile.
#include "backends/sim/profile/load.hpp"

#include <catch2/catch.hpp>

#include "core/error.hpp"
#include "tests/support/temporary_file.hpp"

using rkv::TemporaryFile;
using rkv::sim::load_profile;
using rkv::sim::parse_profile;
using rkv::sim::Profile;
using namespace rkv::sim;

TEST_CASE("each field of a host's profile is read", "[sim]") {
  const HostProfile host = parse_profile(R"({"server": {
    "cpu": {"sockets": 2, "cores_per_socket": 3, "smt_ways": 4, "smt_throughput": 0.5, "clock_ghz": 6, "turbo_ghz": [9, 8],
      "costs_measured_at_ghz": 7},
    "scheduler": {"kind": "eevdf", "tick_ns": 1, "tick_jitter_ns": 17, "slice_ns": 2, "latency_ns": 3, "wakeup_granularity_ns": 4,
      "switch_cost_ns": 5, "switch_footprint_bytes": 16, "run_queue_level_ns": 21, "wakeup_latency_ns": 6, "halt_after_ns": 44, "wakeup_before_halt_ns": 45, "wake_cost_ns": 7, "wake_elsewhere_ns": 14, "wake_beside_ns": 43, "wake_idle_ns": 15, "reschedule_ns": 22,
      "reschedule_interrupt_ns": 23, "wake_other_socket_ns": 18, "syscall_ns": 8, "fall_asleep_ns": 24, "timed_sleep_ns": 30, "timed_sleep_among_ns": 31, "interrupt_ns": 9,
      "interrupt_cpu": 10, "wake_to_interrupt": true, "wake_affine": true, "packs_cpus": true, "idle_cores_only": true, "make_thread_ns": 26, "begin_thread_ns": 27, "migration_cost_ns": 11,
      "idle_pull_after_ns": 13, "balance_interval_ns": 12, "stray_exchanges": 0.125, "background_hz": 25, "background_long_hz": 28, "background_long_ns": 29, "background_heavy_part": 0.25, "background_heavy_weight": 9.5, "background_moving": 0.5, "grouped": true,
      "active_balance_ns": 20, "numa_balancing_ns": 19},
    "memory": {"walk": [{"working_set_bytes": 1, "entry_ns": 2.5}, {"working_set_bytes": 3, "entry_ns": 4}],
      "lines": [{"working_set_bytes": 4, "line_ns": 1.5}], "lines_at_once": 3.5, "walk_clock_share": 0.5, "bytes_an_entry": 5, "cache_bytes": 6, "bandwidth_bytes_per_ns": 7, "banks": 19, "bank_cycle_ns": 20, "kept_ns": 21, "lost_entry_ns": 22, "remote_socket_factor": 8,
      "copy_ns_per_byte": 9, "format_key_ns": 10, "store_operation_ns": 11, "lock_ns": 12, "lock_hand_over_ns": 13,
      "slot_look_ns": 17, "slot_hit_ns": 18, "spin_waiter_ns": 16},
    "program": {"client_operation_ns": 1, "client_response_ns": 2, "client_serial_ns": 3,
      "server_operation_ns": 4,
      "clock_read_ns": 5},
    "rc": {"post_send_ns": 1, "post_receive_ns": 2, "poll_ns": 3, "empty_poll_ns": 4, "arm_ns": 5, "event_ns": 6,
           "lock_hand_over_ns": 7, "post_chained_ns": 8, "receive_chained_ns": 9},
    "uc": {"post_send_ns": 7}, "ud": {"post_send_ns": 8}}})",
                                         "test")
                               .server;
  CHECK(host.cpu == CpuProfile{2, 3, 4, 0.5, 6, {9, 8}, 7});
  CHECK(host.scheduler == SchedulerProfile{SchedulerProfile::Kind::eevdf,
                                           1'000,
                                           17'000,
                                           2'000,
                                           3'000,
                                           4'000,
                                           5'000,
                                           16,
                                           21'000,
                                           6'000,
                                           44'000,
                                           45'000,
                                           7'000,
                                           14'000,
                                           43'000,
                                           15'000,
                                           22'000,
                                           23'000,
                                           18'000,
                                           8'000,
                                           24'000,
                                           30'000,
                                           31'000,
                                           9'000,
                                           10,
                                           true,
                                           true,
                                           true,
                                           true,
                                           26'000,
                                           27'000,
                                           11'000,
                                           13'000,
                                           12'000,
                                           0.125,
                                           25,
                                           28,
                                           29'000,
                                           0.25,
                                           9.5,
                                           0.5,
                                           true,
                                           20'000,
                                           19'000});
  CHECK(host.memory == MemoryProfile{{{1, 2'500}, {3, 4'000}},
                                     {{4, 1'500}},
                                     3.5,
                                     0.5,
                                     5,
                                     6,
                                     7,
                                     19,
                                     20'000,
                                     21'000,
                                     22'000,
                                     8,
                                     9,
                                     10'000,
                                     11'000,
                                     12'000,
                                     13'000,
                                     17'000,
                                     18'000,
                                     16'000});
  CHECK(host.program == ProgramProfile{1'000, 2'000, 3'000, 4'000, 5'000});
  CHECK(host.rc == VerbsProfile{1'000, 8'000, 2'000, 9'000, 3'000, 4'000, 5'000, 6'000, 7'000});
  CHECK(host.uc.post_send == 7'000);
  CHECK(host.ud.post_send == 8'000);
}

TEST_CASE("each field of card, network and TCP is read", "[sim]") {
  const Profile profile = parse_profile(R"({"name": "n", "description": "d",
    "nic": {"kind": "soft", "processing_units": 1, "units_by_queue_pair": true,
      "stalls_for_contexts": true, "read_contexts": true, "pass_each_packet": true,
      "rc": {"send_ns": 1, "receive_ns": 2, "ack_ns": 3, "take_ack_ns": 16, "header_bytes": 4, "ack_bytes": 5},
      "uc": {"send_ns": 6, "receive_ns": 7, "ack_ns": 8, "take_ack_ns": 17, "header_bytes": 9, "ack_bytes": 10},
      "ud": {"send_ns": 11, "receive_ns": 12, "ack_ns": 13, "take_ack_ns": 18, "header_bytes": 14, "ack_bytes": 15},
      "pcie_latency_ns": 2, "pcie_bandwidth_bytes_per_ns": 3, "pcie_payload_bytes": 128,
      "pcie_cut_by_address": true,
      "pcie_packet_ns": 9, "pcie_write_backlog_ns": 8, "doorbell_carries_request": false, "inline_bytes": 4,
      "doorbell_ns": 5, "shared_doorbells": 6, "private_doorbells": 3, "doorbell_lock_hand_over_ns": 7, "receive_record": true,
      "receive_fetch_ns": 8,
      "receive_fetch_an_sge_ns": 9, "max_sge": 10, "queue_depth": 11, "completion_queue_depth": 12,
      "interrupt_delay_ns": 13, "rnr_delay_ns": 14, "retransmit_delay_ns": 15,
      "reads_outstanding": 22, "context_bytes": 23,
      "qp_cache": {"entries": 1, "policy": "lru", "miss_ns": 2, "parallel_misses": 3},
      "request_cache": {"bytes": 40, "bytes_an_entry": 5, "policy": "fifo"},
      "translation_cache": {"entries": 6}, "page_bytes": 4096,
      "soft_transfer_ns": 17, "soft_copy_ns_per_byte": 18, "soft_wake_ns": 19, "soft_event_ns": 23, "soft_elsewhere_ns": 20,
      "soft_read_ns_per_byte": 24,
      "soft_visible_ns": 21},
    "network": {"one_host": true, "client_hosts": 1, "link_latency_ns": 2, "link_bandwidth_gbit_s": 3,
      "switch_latency_ns": 4, "mtu_bytes": 500, "loss": 0.5, "duplicate": 0.25, "reorder": 0.125,
      "reorder_delay_ns": 6, "flow_bytes": 7},
    "tcp": {"send_ns": 1, "receive_ns": 2, "empty_receive_ns": 3, "select_ns": 4, "epoll_ns": 12, "ns_per_byte": 5,
      "soft_interrupt_ns": 6, "after_switch_ns": 10, "after_idle_ns": 11, "latency_ns": 7, "early_ns": 9, "elsewhere_ns": 13, "header_bytes": 8,
      "switch_footprint_bytes": 14}})",
                                        "test");
  using Policy = CacheProfile::Policy;
  CHECK(profile.name == "n");
  CHECK(profile.description == "d");
  CHECK(profile.nic == NicProfile{NicProfile::Kind::soft,
                                  1,
                                  true,
                                  true,
                                  true,
                                  true,
                                  {1'000, 2'000, 3'000, 16'000, 4, 5},
                                  {6'000, 7'000, 8'000, 17'000, 9, 10},
                                  {11'000, 12'000, 13'000, 18'000, 14, 15},
                                  2'000,
                                  3,
                                  128,
                                  true,
                                  9'000,
                                  8'000,
                                  false,
                                  4,
                                  5'000,
                                  6,
                                  3,
                                  7'000,
                                  true,
                                  8'000,
                                  9'000,
                                  10,
                                  11,
                                  12,
                                  13'000,
                                  14'000,
                                  15'000,
                                  22,
                                  {1, 0, 0, Policy::lru, 2'000, 3},
                                  23,
                                  {0, 40, 5, Policy::fifo, 500'000, 4},
                                  {6, 0, 0, Policy::random, 500'000, 4},
                                  4096,
                                  17'000,
                                  18,
                                  19'000,
                                  23'000,
                                  20'000,
                                  24,
                                  21'000});
  CHECK(profile.network == NetworkProfile{true, 1, 2'000, 3, 4'000, 500, 0.5, 0.25, 0.125, 6'000, 7});
  CHECK(profile.tcp == TcpProfile{1'000, 2'000, 3'000, 4'000, 12'000, 5, 6'000, 10'000, 11'000, 7'000, 9'000,
                                  13'000, 8, 14});
}

TEST_CASE("nanoseconds are kept to the picosecond and rounded beyond it", "[sim]") {
  const auto switch_cost = [](const std::string& ns) {
    return parse_profile(R"({"server": {"scheduler": {"switch_cost_ns": )" + ns + "}}}", "test")
        .server.scheduler.switch_cost;
  };
  CHECK(switch_cost("0.001") == 1);
  CHECK(switch_cost("1.2346") == 1'235);
  CHECK(switch_cost("1.2344") == 1'234);
  CHECK(switch_cost("0.0004") == 0);
  CHECK(switch_cost("99999999999.999") == 99'999'999'999'999);
  CHECK(switch_cost("1e3") == 1'000'000);
}

TEST_CASE("hosts are for both, server and client go over them", "[sim]") {
  const Profile profile = parse_profile(R"({
    "client": {"cpu": {"sockets": 3}, "rc": {"poll_ns": null}},
    "hosts": {"cpu": {"sockets": 2, "cores_per_socket": 4}, "rc": {"poll_ns": 7}}})",
                                        "test");
  CHECK(profile.server.cpu.sockets == 2);
  CHECK(profile.client.cpu.sockets == 3);
  CHECK(profile.client.cpu.cores_per_socket == 4);
  CHECK(profile.server.rc.poll == 7'000);
  CHECK(profile.client.rc.poll == VerbsProfile{}.poll);
  CHECK(profile.server.uc == profile.client.uc);
}

TEST_CASE("a profile goes over its base, and that over its own", "[sim]") {
  const TemporaryFile bottom("bottom.json", R"({"name": "b", "description": "of the bottom",
    "hosts": {"cpu": {"sockets": 2, "cores_per_socket": 5}, "memory": {"walk": [
      {"working_set_bytes": 1, "entry_ns": 1}, {"working_set_bytes": 2, "entry_ns": 2}]}},
    "server": {"cpu": {"clock_ghz": 3}}, "nic": {"rc": {"send_ns": 1, "receive_ns": 2}}})");
  const TemporaryFile middle("middle.json", R"({"base": "bottom.json", "hosts": {"cpu": {"clock_ghz": 1}},
    "nic": {"rc": {"receive_ns": null}}})");
  const TemporaryFile top("top.json", R"({"base": "middle.json", "client": {"cpu": {"sockets": 1}, "memory":
    {"walk": [{"working_set_bytes": 9, "entry_ns": 9}]}}})");
  const Profile profile = load_profile(top.path());
  CHECK(profile.name == "top");
  CHECK(profile.description.empty());
  CHECK(profile.server.cpu.sockets == 2);
  CHECK(profile.client.cpu.sockets == 1);
  CHECK(profile.client.cpu.cores_per_socket == 5);
  CHECK(profile.server.cpu.clock_ghz == 1);
  CHECK(profile.client.cpu.clock_ghz == 1);
  CHECK(profile.nic.rc.send == 1'000);
  CHECK(profile.nic.rc.receive == NicProfile{}.rc.receive);
  CHECK(profile.server.memory.walk.size() == 2);
  CHECK(profile.client.memory.walk == std::vector<MemoryProfile::CostAtSize>{{9, 9'000}});
}

TEST_CASE("a base that leads nowhere, or back, is refused", "[sim]") {
  const TemporaryFile lost("lost.json", R"({"base": "gone.json", "tcp": {"x": 1}})");
  CHECK_THROWS_WITH(load_profile(lost.path()),
                    Catch::Contains(lost.path().string() + ": /base: given \"gone.json\": no such file") &&
                        Catch::Contains("/tcp/x: unknown field"));
  const TemporaryFile a("a.json", R"({"base": "b.json"})");
  const TemporaryFile b("b.json", R"({"base": "./a.json"})");
  CHECK_THROWS_WITH(load_profile(a.path()),
                    Catch::Contains("b.json: /base: given \"./a.json\", which has this "
                                    "file as its base"));
  const TemporaryFile self("self.json", R"({"base": "self.json"})");
  CHECK_THROWS_AS(load_profile(self.path()), rkv::InputError);
  const TemporaryFile number("number.json", R"({"base": 3})");
  CHECK_THROWS_WITH(load_profile(number.path()), Catch::Contains("/base: given 3; allowed: a text"));
  CHECK_THROWS_WITH(
      load_profile("/nowhere/x.json"),
      Catch::StartsWith("/nowhere/x.json: no such profile file; the ones that come with rkv are in "
                        "calibration/profiles/"));
}

TEST_CASE("a problem is told where it was written, all at once", "[sim]") {
  const TemporaryFile base("base.json",
                           R"({"hosts": {"scheduler": {"interrupt_cpu": 4}}, "nic": {"kind": "soft"}})");
  const TemporaryFile top("top.json", R"({"base": "base.json", "hosts": {"cpu": {"cores_per_socket": 4}}})");
  CHECK_THROWS_WITH(
      load_profile(top.path()),
      Catch::Equals(base.path().string() +
                    ": /hosts/scheduler/interrupt_cpu: given 4 on a host of 4 CPUs; allowed: 0 to 3, "
                    "or -1 for that of the thread that waits\n" +
                    base.path().string() +
                    ": /nic/kind: given \"soft\" on two hosts; soft0 joins threads of one host only: "
                    "set network.one_host to true"));
  const TemporaryFile bad_base("bad_base.json", R"({"tcp": {"x": 1}})");
  const TemporaryFile bad_top("bad_top.json", R"({"base": "bad_base.json", "tcp": {"y": 1}})");
  CHECK_THROWS_WITH(load_profile(bad_top.path(), {"tcp.z=1"}),
                    Catch::Contains("bad_base.json: /tcp/x") && Catch::Contains("bad_top.json: /tcp/y") &&
                        Catch::Contains("/tcp/z: unknown field \"z\"; allowed in /tcp: after_idle_ns") &&
                        Catch::Contains("(set by --set-profile tcp.z=1)"));
}

TEST_CASE("the command line goes over a profile, in its order", "[sim]") {
  const TemporaryFile file("study.json", R"({"description": "of a study", "server": {"cpu": {"sockets": 2}},
    "nic": {"inline_bytes": 5}})");
  const Profile profile =
      load_profile(file.path(), {"hosts.cpu.sockets=3", "/client/cpu/sockets=4", "nic.inline_bytes=null",
                                 "name=7", R"(hosts.memory.walk=[{"working_set_bytes": 8, "entry_ns": 0.5}])",
                                 "nic.kind=soft", "network.one_host=true"});
  CHECK(profile.name == "7");
  CHECK(profile.description == "of a study");
  CHECK(profile.server.cpu.sockets == 3);
  CHECK(profile.client.cpu.sockets == 4);
  CHECK(profile.nic.inline_bytes == NicProfile{}.inline_bytes);
  CHECK(profile.server.memory.walk == std::vector<MemoryProfile::CostAtSize>{{8, 500}});
  CHECK(profile.nic.kind == NicProfile::Kind::soft);
}

TEST_CASE("an override of a profile that can't be is refused", "[sim]") {
  const TemporaryFile file("plain.json", "{}");
  const auto refused = [&](const std::string& option, const std::string& says) {
    INFO(option);
    CHECK_THROWS_WITH(load_profile(file.path(), {option}), Catch::Contains(says));
  };
  refused("nic.rc.send=1", "/nic/rc/send: unknown field \"send\"; allowed in /nic/rc: ack_bytes");
  refused("nic.rc.send_ns=fast", "/nic/rc/send_ns: given \"fast\"; allowed: a number from 0");
  refused("hosts.scheduler.interrupt_cpu=16", "(set by --set-profile hosts.scheduler.interrupt_cpu=16)");
  refused("hosts.memory.walk.0.entry_ns=1", "/hosts/memory/walk has no fields; set it as a whole");
  refused("base=das5.json", "/base: can't be set on the command line");
  refused("nic",
          "--set-profile nic: not of the form path=value, for example hosts.scheduler.switch_cost_ns=1200");
  refused("/nic~2=1", "not a JSON pointer; write it like /hosts/scheduler/switch_cost_ns");
}
