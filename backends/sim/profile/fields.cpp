#include "backends/sim/profile/fields.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

#include "backends/sim/profile/names.hpp"
#include "core/document/fields.hpp"

namespace rkv::sim {
namespace {

using nlohmann::json;
using Pointer = json::json_pointer;

class Reader : public FieldReader {
 public:
  using FieldReader::FieldReader;

  void nanoseconds(const Pointer& at, Ps& value) const {
    if (const json* const given = find(at)) {
      value = std::llround(given->get<double>() * ps_in_ns);
    }
  }

  template <typename T, typename Function>
  void list(const Pointer& at, std::vector<T>& values, Function&& each) const {
    if (const json* const given = find(at)) {
      values.assign(given->size(), T{});
      for (std::size_t i = 0; i < values.size(); ++i) {
        each(at / i, values[i]);
      }
    }
  }
};

class Writer : public FieldWriter {
 public:
  using FieldWriter::FieldWriter;

  void nanoseconds(const Pointer& at, Ps value) {
    // The schema's 100 s are 10^14 ps, which a double tells apart.
    if (value % ps_in_ns == 0) {
      place(at) = value / ps_in_ns;
    } else {
      place(at) = static_cast<double>(value) / ps_in_ns;
    }
  }

  template <typename T, typename Function>
  void list(const Pointer& at, const std::vector<T>& values, Function&& each) {
    place(at) = json::array();
    for (std::size_t i = 0; i < values.size(); ++i) {
      each(at / i, values[i]);
    }
  }
};

template <typename Archive, typename Cpu>
void cpu_fields(Archive& archive, const Pointer& at, Cpu& cpu) {
  archive.field(at / "sockets", cpu.sockets);
  archive.field(at / "cores_per_socket", cpu.cores_per_socket);
  archive.field(at / "smt_ways", cpu.smt_ways);
  archive.field(at / "smt_throughput", cpu.smt_throughput);
  archive.field(at / "clock_ghz", cpu.clock_ghz);
  archive.list(at / "turbo_ghz", cpu.turbo_ghz,
               [&](const Pointer& step_at, auto& step) { archive.field(step_at, step); });
  archive.field(at / "costs_measured_at_ghz", cpu.costs_measured_at_ghz);
}

template <typename Archive, typename Scheduler>
void scheduler_fields(Archive& archive, const Pointer& at, Scheduler& scheduler) {
  archive.field(at / "kind", scheduler.kind);
  archive.nanoseconds(at / "tick_ns", scheduler.tick);
  archive.nanoseconds(at / "tick_jitter_ns", scheduler.tick_jitter);
  archive.nanoseconds(at / "slice_ns", scheduler.slice);
  archive.nanoseconds(at / "latency_ns", scheduler.latency);
  archive.nanoseconds(at / "wakeup_granularity_ns", scheduler.wakeup_granularity);
  archive.nanoseconds(at / "switch_cost_ns", scheduler.switch_cost);
  archive.field(at / "switch_footprint_bytes", scheduler.switch_footprint_bytes);
  archive.nanoseconds(at / "run_queue_level_ns", scheduler.run_queue_level);
  archive.nanoseconds(at / "wakeup_latency_ns", scheduler.wakeup_latency);
  archive.nanoseconds(at / "halt_after_ns", scheduler.halt_after);
  archive.nanoseconds(at / "wakeup_before_halt_ns", scheduler.wakeup_before_halt);
  archive.nanoseconds(at / "wake_cost_ns", scheduler.wake_cost);
  archive.nanoseconds(at / "wake_elsewhere_ns", scheduler.wake_elsewhere);
  archive.nanoseconds(at / "wake_beside_ns", scheduler.wake_beside);
  archive.nanoseconds(at / "reschedule_ns", scheduler.reschedule);
  archive.nanoseconds(at / "reschedule_interrupt_ns", scheduler.reschedule_interrupt);
  archive.nanoseconds(at / "wake_idle_ns", scheduler.wake_idle);
  archive.nanoseconds(at / "wake_other_socket_ns", scheduler.wake_other_socket);
  archive.nanoseconds(at / "syscall_ns", scheduler.syscall);
  archive.nanoseconds(at / "fall_asleep_ns", scheduler.fall_asleep);
  archive.nanoseconds(at / "timed_sleep_ns", scheduler.timed_sleep);
  archive.nanoseconds(at / "timed_sleep_among_ns", scheduler.timed_sleep_among);
  archive.nanoseconds(at / "interrupt_ns", scheduler.interrupt);
  archive.field(at / "interrupt_cpu", scheduler.interrupt_cpu);
  archive.field(at / "wake_to_interrupt", scheduler.wake_to_interrupt);
  archive.field(at / "wake_affine", scheduler.wake_affine);
  archive.field(at / "packs_cpus", scheduler.packs_cpus);
  archive.field(at / "idle_cores_only", scheduler.idle_cores_only);
  archive.nanoseconds(at / "make_thread_ns", scheduler.make_thread);
  archive.nanoseconds(at / "begin_thread_ns", scheduler.begin_thread);
  archive.nanoseconds(at / "migration_cost_ns", scheduler.migration_cost);
  archive.nanoseconds(at / "idle_pull_after_ns", scheduler.idle_pull_after);
  archive.nanoseconds(at / "balance_interval_ns", scheduler.balance_interval);
  archive.field(at / "stray_exchanges", scheduler.stray_exchanges);
  archive.field(at / "background_hz", scheduler.background_hz);
  archive.field(at / "background_long_hz", scheduler.background_long_hz);
  archive.nanoseconds(at / "background_long_ns", scheduler.background_long);
  archive.field(at / "background_heavy_part", scheduler.background_heavy_part);
  archive.field(at / "background_heavy_weight", scheduler.background_heavy_weight);
  archive.field(at / "background_moving", scheduler.background_moving);
  archive.field(at / "grouped", scheduler.grouped);
  archive.nanoseconds(at / "active_balance_ns", scheduler.active_balance);
  archive.nanoseconds(at / "numa_balancing_ns", scheduler.numa_balancing);
}

template <typename Archive, typename Memory>
void memory_fields(Archive& archive, const Pointer& at, Memory& memory) {
  archive.list(at / "walk", memory.walk, [&](const Pointer& point_at, auto& point) {
    archive.field(point_at / "working_set_bytes", point.working_set_bytes);
    archive.nanoseconds(point_at / "entry_ns", point.cost);
  });
  archive.list(at / "lines", memory.lines, [&](const Pointer& point_at, auto& point) {
    archive.field(point_at / "working_set_bytes", point.working_set_bytes);
    archive.nanoseconds(point_at / "line_ns", point.cost);
  });
  archive.field(at / "lines_at_once", memory.lines_at_once);
  archive.field(at / "walk_clock_share", memory.walk_clock_share);
  archive.field(at / "bytes_an_entry", memory.bytes_an_entry);
  archive.field(at / "cache_bytes", memory.cache_bytes);
  archive.field(at / "bandwidth_bytes_per_ns", memory.bandwidth_bytes_per_ns);
  archive.field(at / "banks", memory.banks);
  archive.nanoseconds(at / "bank_cycle_ns", memory.bank_cycle);
  archive.nanoseconds(at / "kept_ns", memory.kept);
  archive.nanoseconds(at / "lost_entry_ns", memory.lost_entry);
  archive.field(at / "remote_socket_factor", memory.remote_socket_factor);
  archive.field(at / "copy_ns_per_byte", memory.copy_ns_per_byte);
  archive.nanoseconds(at / "format_key_ns", memory.format_key);
  archive.nanoseconds(at / "store_operation_ns", memory.store_operation);
  archive.nanoseconds(at / "lock_ns", memory.lock);
  archive.nanoseconds(at / "lock_hand_over_ns", memory.lock_hand_over);
  archive.nanoseconds(at / "slot_look_ns", memory.slot_look);
  archive.nanoseconds(at / "slot_hit_ns", memory.slot_hit);
  archive.nanoseconds(at / "spin_waiter_ns", memory.spin_waiter);
}

template <typename Archive, typename Program>
void program_fields(Archive& archive, const Pointer& at, Program& program) {
  archive.nanoseconds(at / "client_operation_ns", program.client_operation);
  archive.nanoseconds(at / "client_response_ns", program.client_response);
  archive.nanoseconds(at / "client_serial_ns", program.client_serial);
  archive.nanoseconds(at / "server_operation_ns", program.server_operation);
  archive.nanoseconds(at / "clock_read_ns", program.clock_read);
}

template <typename Archive, typename Verbs>
void verbs_fields(Archive& archive, const Pointer& at, Verbs& verbs) {
  archive.nanoseconds(at / "post_send_ns", verbs.post_send);
  archive.nanoseconds(at / "post_chained_ns", verbs.post_chained);
  archive.nanoseconds(at / "post_receive_ns", verbs.post_receive);
  archive.nanoseconds(at / "receive_chained_ns", verbs.receive_chained);
  archive.nanoseconds(at / "poll_ns", verbs.poll);
  archive.nanoseconds(at / "empty_poll_ns", verbs.empty_poll);
  archive.nanoseconds(at / "arm_ns", verbs.arm);
  archive.nanoseconds(at / "event_ns", verbs.event);
  archive.nanoseconds(at / "lock_hand_over_ns", verbs.lock_hand_over);
}

template <typename Archive, typename Host>
void host_fields(Archive& archive, const Pointer& at, Host& host) {
  cpu_fields(archive, at / "cpu", host.cpu);
  scheduler_fields(archive, at / "scheduler", host.scheduler);
  memory_fields(archive, at / "memory", host.memory);
  program_fields(archive, at / "program", host.program);
  verbs_fields(archive, at / "rc", host.rc);
  verbs_fields(archive, at / "uc", host.uc);
  verbs_fields(archive, at / "ud", host.ud);
}

template <typename Archive, typename Transport>
void nic_transport_fields(Archive& archive, const Pointer& at, Transport& transport) {
  archive.nanoseconds(at / "send_ns", transport.send);
  archive.nanoseconds(at / "receive_ns", transport.receive);
  archive.nanoseconds(at / "ack_ns", transport.ack);
  archive.nanoseconds(at / "take_ack_ns", transport.take_ack);
  archive.field(at / "header_bytes", transport.header_bytes);
  archive.field(at / "ack_bytes", transport.ack_bytes);
}

template <typename Archive, typename Cache>
void cache_fields(Archive& archive, const Pointer& at, Cache& cache) {
  archive.field(at / "entries", cache.entries);
  archive.field(at / "bytes", cache.bytes);
  archive.field(at / "bytes_an_entry", cache.bytes_an_entry);
  archive.field(at / "policy", cache.policy);
  archive.nanoseconds(at / "miss_ns", cache.miss);
  archive.field(at / "parallel_misses", cache.parallel_misses);
}

template <typename Archive, typename Nic>
void nic_fields(Archive& archive, const Pointer& at, Nic& nic) {
  archive.field(at / "kind", nic.kind);
  archive.field(at / "processing_units", nic.processing_units);
  archive.field(at / "units_by_queue_pair", nic.units_by_queue_pair);
  archive.field(at / "stalls_for_contexts", nic.stalls_for_contexts);
  archive.field(at / "read_contexts", nic.read_contexts);
  archive.field(at / "pass_each_packet", nic.pass_each_packet);
  nic_transport_fields(archive, at / "rc", nic.rc);
  nic_transport_fields(archive, at / "uc", nic.uc);
  nic_transport_fields(archive, at / "ud", nic.ud);
  archive.nanoseconds(at / "pcie_latency_ns", nic.pcie_latency);
  archive.field(at / "pcie_bandwidth_bytes_per_ns", nic.pcie_bandwidth_bytes_per_ns);
  archive.field(at / "pcie_payload_bytes", nic.pcie_payload_bytes);
  archive.field(at / "pcie_cut_by_address", nic.pcie_cut_by_address);
  archive.nanoseconds(at / "pcie_packet_ns", nic.pcie_packet);
  archive.nanoseconds(at / "pcie_write_backlog_ns", nic.pcie_write_backlog);
  archive.field(at / "doorbell_carries_request", nic.doorbell_carries_request);
  archive.field(at / "inline_bytes", nic.inline_bytes);
  archive.nanoseconds(at / "doorbell_ns", nic.doorbell);
  archive.field(at / "shared_doorbells", nic.shared_doorbells);
  archive.field(at / "private_doorbells", nic.private_doorbells);
  archive.nanoseconds(at / "doorbell_lock_hand_over_ns", nic.doorbell_lock_hand_over);
  archive.field(at / "receive_record", nic.receive_record);
  archive.nanoseconds(at / "receive_fetch_ns", nic.receive_fetch);
  archive.nanoseconds(at / "receive_fetch_an_sge_ns", nic.receive_fetch_an_sge);
  archive.field(at / "max_sge", nic.max_sge);
  archive.field(at / "queue_depth", nic.queue_depth);
  archive.field(at / "completion_queue_depth", nic.completion_queue_depth);
  archive.nanoseconds(at / "interrupt_delay_ns", nic.interrupt_delay);
  archive.nanoseconds(at / "rnr_delay_ns", nic.rnr_delay);
  archive.nanoseconds(at / "retransmit_delay_ns", nic.retransmit_delay);
  archive.field(at / "reads_outstanding", nic.reads_outstanding);
  cache_fields(archive, at / "qp_cache", nic.qp_cache);
  archive.field(at / "context_bytes", nic.context_bytes);
  cache_fields(archive, at / "request_cache", nic.request_cache);
  cache_fields(archive, at / "translation_cache", nic.translation_cache);
  archive.field(at / "page_bytes", nic.page_bytes);
  archive.nanoseconds(at / "soft_transfer_ns", nic.soft_transfer);
  archive.field(at / "soft_copy_ns_per_byte", nic.soft_copy_ns_per_byte);
  archive.nanoseconds(at / "soft_wake_ns", nic.soft_wake);
  archive.nanoseconds(at / "soft_event_ns", nic.soft_event);
  archive.nanoseconds(at / "soft_elsewhere_ns", nic.soft_elsewhere);
  archive.field(at / "soft_read_ns_per_byte", nic.soft_read_ns_per_byte);
  archive.nanoseconds(at / "soft_visible_ns", nic.soft_visible);
}

template <typename Archive, typename Network>
void network_fields(Archive& archive, const Pointer& at, Network& network) {
  archive.field(at / "one_host", network.one_host);
  archive.field(at / "client_hosts", network.client_hosts);
  archive.nanoseconds(at / "link_latency_ns", network.link_latency);
  archive.field(at / "link_bandwidth_gbit_s", network.link_bandwidth_gbit_s);
  archive.nanoseconds(at / "switch_latency_ns", network.switch_latency);
  archive.field(at / "mtu_bytes", network.mtu_bytes);
  archive.field(at / "loss", network.loss);
  archive.field(at / "duplicate", network.duplicate);
  archive.field(at / "reorder", network.reorder);
  archive.nanoseconds(at / "reorder_delay_ns", network.reorder_delay);
  archive.field(at / "flow_bytes", network.flow_bytes);
}

template <typename Archive, typename Tcp>
void tcp_fields(Archive& archive, const Pointer& at, Tcp& tcp) {
  archive.nanoseconds(at / "send_ns", tcp.send);
  archive.nanoseconds(at / "receive_ns", tcp.receive);
  archive.nanoseconds(at / "empty_receive_ns", tcp.empty_receive);
  archive.nanoseconds(at / "select_ns", tcp.select);
  archive.nanoseconds(at / "epoll_ns", tcp.epoll);
  archive.field(at / "ns_per_byte", tcp.ns_per_byte);
  archive.nanoseconds(at / "soft_interrupt_ns", tcp.soft_interrupt);
  archive.nanoseconds(at / "after_switch_ns", tcp.after_switch);
  archive.nanoseconds(at / "after_idle_ns", tcp.after_idle);
  archive.nanoseconds(at / "latency_ns", tcp.latency);
  archive.nanoseconds(at / "early_ns", tcp.early);
  archive.nanoseconds(at / "elsewhere_ns", tcp.elsewhere);
  archive.field(at / "header_bytes", tcp.header_bytes);
  archive.field(at / "switch_footprint_bytes", tcp.switch_footprint_bytes);
}

template <typename Archive, typename Values>
void all_fields(Archive& archive, Values& profile) {
  const Pointer root;
  archive.field(root / "name", profile.name);
  archive.field(root / "description", profile.description);
  host_fields(archive, root / "server", profile.server);
  host_fields(archive, root / "client", profile.client);
  nic_fields(archive, root / "nic", profile.nic);
  network_fields(archive, root / "network", profile.network);
  tcp_fields(archive, root / "tcp", profile.tcp);
}

}  // namespace

Profile read_fields(const nlohmann::json& document) {
  Profile profile;
  const Reader reader(document);
  all_fields(reader, profile);
  return profile;
}

nlohmann::json write_fields(const Profile& profile) {
  json document = json::object();
  Writer writer(document);
  all_fields(writer, profile);
  return document;
}

}  // namespace rkv::sim
