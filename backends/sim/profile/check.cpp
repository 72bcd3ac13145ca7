#include "backends/sim/profile/check.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace rkv::sim {
namespace {

using Pointer = nlohmann::json::json_pointer;

void check_sizes(const Pointer& at, const std::vector<MemoryProfile::CostAtSize>& points,
                 const Complain& complain) {
  for (std::size_t i = 1; i < points.size(); ++i) {
    const auto before = points[i - 1].working_set_bytes;
    const auto given = points[i].working_set_bytes;
    if (given <= before) {
      complain(
          at / i / "working_set_bytes",
          fmt::format("given {} after {}; allowed: sizes in ascending order, none twice", given, before));
    }
  }
}

void check_host(const Pointer& at, const HostProfile& host, const Complain& complain) {
  const auto cpus = host.cpu.cpus();
  const SchedulerProfile& scheduler = host.scheduler;
  if (scheduler.interrupt_cpu >= 0 && static_cast<std::uint32_t>(scheduler.interrupt_cpu) >= cpus) {
    complain(at / "scheduler" / "interrupt_cpu",
             fmt::format("given {} on a host of {} CPUs; allowed: 0 to {}, or -1 for that of the thread that "
                         "waits",
                         scheduler.interrupt_cpu, cpus, cpus - 1));
  }
  if (scheduler.balance_interval > 0 && scheduler.balance_interval < scheduler.tick) {
    complain(at / "scheduler" / "balance_interval_ns",
             fmt::format("shorter than tick_ns, which is {} ns; allowed: that or more, or 0 for never",
                         scheduler.tick / ps_in_ns));
  }
  check_sizes(at / "memory" / "walk", host.memory.walk, complain);
  check_sizes(at / "memory" / "lines", host.memory.lines, complain);
}

void check_cache(const Pointer& at, const CacheProfile& cache, const Complain& complain) {
  if (cache.entries > 0 && cache.bytes > 0) {
    complain(at / "bytes", fmt::format("given {} together with entries {}; allowed: one of them", cache.bytes,
                                       cache.entries));
  } else if (cache.bytes > 0 && (cache.bytes_an_entry == 0 || cache.bytes < cache.bytes_an_entry)) {
    complain(at / "bytes_an_entry", fmt::format("{} for a cache of {} bytes; allowed: 1 to {}",
                                                cache.bytes_an_entry, cache.bytes, cache.bytes));
  }
}

void check_network(const Profile& profile, const Complain& complain) {
  const Pointer network("/network");
  const bool soft = profile.nic.kind == NicProfile::Kind::soft;
  if (soft && !profile.network.one_host) {
    complain(
        Pointer("/nic/kind"),
        "given \"soft\" on two hosts; soft0 joins threads of one host only: set network.one_host to true");
  }
  if (!soft && profile.network.one_host) {
    complain(network / "one_host",
             "given true for a card on the network; allowed: with nic.kind \"soft\" only");
  }
  if (profile.network.one_host && profile.network.client_hosts != 1) {
    complain(network / "client_hosts",
             fmt::format("given {} together with one_host; allowed: 1", profile.network.client_hosts));
  }
}

}  // namespace

void check_profile(const Profile& profile, const Complain& complain) {
  check_host(Pointer("/server"), profile.server, complain);
  check_host(Pointer("/client"), profile.client, complain);
  const Pointer nic("/nic");
  check_cache(nic / "qp_cache", profile.nic.qp_cache, complain);
  check_cache(nic / "request_cache", profile.nic.request_cache, complain);
  check_cache(nic / "translation_cache", profile.nic.translation_cache, complain);
  check_network(profile, complain);
}

}  // namespace rkv::sim
