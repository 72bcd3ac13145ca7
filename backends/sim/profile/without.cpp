#include "backends/sim/profile/without.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "core/error.hpp"

namespace rkv::sim {
namespace {

// The most that a profile may say (profile.schema.json); a message of 4 KiB takes 0.4 ns.
constexpr double unlimited_bytes_per_ns = 10'000;

using SwitchOff = void (*)(Profile&);

struct Switch {
  Mechanism mechanism;
  SwitchOff off;
};

void never_miss(CacheProfile& cache) {
  cache.entries = 0;
  cache.bytes = 0;
}

// Of one member of a part of both hosts' profiles.
template <auto Part, auto Member>
void zero_on_hosts(Profile& profile) {
  for (HostProfile* host : {&profile.server, &profile.client}) (host->*Part).*Member = 0;
}

template <auto Member>
constexpr SwitchOff no_scheduler = zero_on_hosts<&HostProfile::scheduler, Member>;
template <auto Member>
constexpr SwitchOff no_memory = zero_on_hosts<&HostProfile::memory, Member>;
template <auto Member>
constexpr SwitchOff no_program = zero_on_hosts<&HostProfile::program, Member>;

// Of one cost of verbs calls, on every transport.
template <auto Member>
void no_verbs(Profile& profile) {
  for (HostProfile* host : {&profile.server, &profile.client}) {
    for (VerbsProfile* verbs : {&host->rc, &host->uc, &host->ud}) verbs->*Member = 0;
  }
}

constexpr std::array switches{
    Switch{{"turbo", "clocks that fall as more cores are active"},
           [](Profile& p) {
             p.server.cpu.turbo_ghz.clear();
             p.client.cpu.turbo_ghz.clear();
           }},
    Switch{{"client_serial",
            "the lock that all clients of a process pass between operations is held for no time"},
           no_program<&ProgramProfile::client_serial>},
    Switch{{"clock_read", "time stamps"}, no_program<&ProgramProfile::clock_read>},
    Switch{{"format_key", "printf of keys"}, no_memory<&MemoryProfile::format_key>},
    Switch{{"post_send", "CPU time of ibv_post_send, but for the doorbell"},
           no_verbs<&VerbsProfile::post_send>},
    Switch{{"post_receive", "CPU time of ibv_post_recv"}, no_verbs<&VerbsProfile::post_receive>},
    Switch{{"doorbell", "the write that tells the card of a request"},
           [](Profile& p) { p.nic.doorbell = 0; }},
    Switch{{"doorbell_lock", "doorbell registers that threads share"},
           [](Profile& p) {
             p.nic.shared_doorbells = 0;
             p.nic.doorbell_lock_hand_over = 0;
           }},
    Switch{{"queue_lock", "locks of queue pairs and completion queues that threads share"},
           no_verbs<&VerbsProfile::lock_hand_over>},
    Switch{{"pcie", "latency of PCIe, and all but nothing of its time for bytes"},
           [](Profile& p) {
             p.nic.pcie_latency = 0;
             p.nic.pcie_packet = 0;
             p.nic.pcie_write_backlog = 0;
             p.nic.pcie_bandwidth_bytes_per_ns = unlimited_bytes_per_ns;
           }},
    Switch{{"reads_outstanding", "READs that wait for the answers of others of their queue pair"},
           [](Profile& p) { p.nic.reads_outstanding = 0; }},
    Switch{{"qp_cache", "misses of queue pairs' contexts"}, [](Profile& p) { never_miss(p.nic.qp_cache); }},
    Switch{{"stalls_for_contexts", "units of the card that wait for missing contexts"},
           [](Profile& p) { p.nic.stalls_for_contexts = false; }},
    Switch{{"pass_each_packet", "the card's units' work on PCIe's packets beyond a message's first"},
           [](Profile& p) { p.nic.pass_each_packet = false; }},
    Switch{{"request_cache", "misses of work requests"}, [](Profile& p) { never_miss(p.nic.request_cache); }},
    Switch{{"translation_cache", "misses of memory translations"},
           [](Profile& p) { never_miss(p.nic.translation_cache); }},
    Switch{{"receive_fetch", "reading receive descriptors"},
           [](Profile& p) {
             p.nic.receive_record = false;
             p.nic.receive_fetch = p.nic.receive_fetch_an_sge = 0;
           }},
    Switch{{"ack", "the card's and the link's work on RC's acknowledgements"},
           [](Profile& p) { p.nic.rc.ack = p.nic.rc.take_ack = p.nic.rc.ack_bytes = 0; }},
    Switch{{"link", "latency of cables and of the switch"},
           [](Profile& p) {
             p.network.link_latency = 0;
             p.network.switch_latency = std::min<Ps>(p.network.switch_latency, 1);  // 0: there is none
           }},
    Switch{{"poll", "CPU time of taking a completion; empty polls stay"}, no_verbs<&VerbsProfile::poll>},
    Switch{{"slot_look", "looking at slots of memory that peers WRITE into, but for those with a message"},
           no_memory<&MemoryProfile::slot_look>},
    Switch{{"slot_hit", "the lines of a slot that the card has written"},
           no_memory<&MemoryProfile::slot_hit>},
    Switch{{"loss", "messages lost, duplicated or reordered by the network"},
           [](Profile& p) { p.network.loss = p.network.duplicate = p.network.reorder = 0; }},
    Switch{{"interrupt", "interrupts' CPU time and their moderation"},
           [](Profile& p) {
             no_scheduler<&SchedulerProfile::interrupt>(p);
             p.nic.interrupt_delay = 0;
           }},
    Switch{{"soft_wake", "soft card: what the receiver's event, and waking it, cost the sender"},
           [](Profile& p) { p.nic.soft_wake = p.nic.soft_event = 0; }},
    Switch{{"wake_cost", "CPU time of the one who wakes a thread"},
           [](Profile& p) {
             no_scheduler<&SchedulerProfile::wake_cost>(p);
             no_scheduler<&SchedulerProfile::wake_elsewhere>(p);
             no_scheduler<&SchedulerProfile::wake_beside>(p);
             no_scheduler<&SchedulerProfile::wake_idle>(p);
             no_scheduler<&SchedulerProfile::reschedule>(p);
             no_scheduler<&SchedulerProfile::reschedule_interrupt>(p);
             no_scheduler<&SchedulerProfile::wake_other_socket>(p);
           }},
    Switch{{"wakeup_latency", "the time an idle CPU takes to run a thread"},
           [](Profile& p) {
             no_scheduler<&SchedulerProfile::wakeup_latency>(p);
             no_scheduler<&SchedulerProfile::wakeup_before_halt>(p);
             p.tcp.after_idle = 0;
           }},
    Switch{{"switch_cost", "switching from one thread to another"},
           [](Profile& p) {
             no_scheduler<&SchedulerProfile::switch_cost>(p);
             no_scheduler<&SchedulerProfile::switch_footprint_bytes>(p);
             no_scheduler<&SchedulerProfile::run_queue_level>(p);
             p.tcp.after_switch = 0;
             p.tcp.switch_footprint_bytes = 0;
           }},
    Switch{{"migration", "cold caches of a thread on another CPU"},
           no_scheduler<&SchedulerProfile::migration_cost>},
    Switch{{"syscall", "entering and leaving the kernel"}, no_scheduler<&SchedulerProfile::syscall>},
    Switch{{"smt", "siblings that slow each other"},
           [](Profile& p) { p.server.cpu.smt_throughput = p.client.cpu.smt_throughput = 1; }},
    Switch{{"memory_bandwidth", "waiting for memory in use"},
           [](Profile& p) {
             constexpr std::uint64_t more_than_any_store = std::uint64_t{1} << 40;
             p.server.memory.cache_bytes = p.client.memory.cache_bytes = more_than_any_store;
           }},
    Switch{{"neighbours", "walking entries that others have driven out of the caches"},
           no_memory<&MemoryProfile::kept>},
    Switch{
        {"remote_socket", "other sockets' memory being slower"},
        [](Profile& p) { p.server.memory.remote_socket_factor = p.client.memory.remote_socket_factor = 1; }},
    Switch{{"lock_hand_over", "taking locks that another CPU had last"},
           no_memory<&MemoryProfile::lock_hand_over>},
    Switch{{"wake_to_interrupt", "interrupts that draw the threads they wake to their CPU"},
           [](Profile& p) {
             p.server.scheduler.wake_to_interrupt = p.client.scheduler.wake_to_interrupt = false;
           }},
    Switch{{"numa_balancing", "threads that move to the socket of their memory"},
           no_scheduler<&SchedulerProfile::numa_balancing>},
};

constexpr auto all_mechanisms = [] {
  std::array<Mechanism, switches.size()> all;
  std::transform(switches.begin(), switches.end(), all.begin(),
                 [](const Switch& one) { return one.mechanism; });
  return all;
}();

const Switch* find(std::string_view name) {
  const auto* found = std::find_if(switches.begin(), switches.end(),
                                   [&](const Switch& one) { return one.mechanism.name == name; });
  return found == switches.end() ? nullptr : found;
}

}  // namespace

std::span<const Mechanism> mechanisms() {
  return all_mechanisms;
}

void switch_off(Profile& profile, std::string_view mechanism) {
  const Switch* found = find(mechanism);
  if (found == nullptr) {
    std::string names;
    for (const Mechanism& one : mechanisms())
      names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
    throw InputError(fmt::format("--without {}: there is no such mechanism; allowed: {}", mechanism, names));
  }
  found->off(profile);
}

}  // namespace rkv::sim
