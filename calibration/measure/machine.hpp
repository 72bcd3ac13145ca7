// What Linux says of this machine, as far as measurements need it: which CPUs to measure on, caches, and
// whether it is a virtual one. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rkv::calibration {

struct MeasuredCpus {
  int first = 0;               // where what needs one CPU is measured
  std::optional<int> second;   // another core of its socket, of another one if need be
  std::optional<int> sibling;  // a hardware thread of the same core
  std::vector<int> all;        // that this process may run on

  // Where who is to stay out of the way of threads on the first one may run. Empty: nowhere else.
  [[nodiscard]] std::vector<int> beside_first() const {
    return second ? std::vector{*second} : std::vector<int>{};
  }
};

struct MachineFacts {
  MeasuredCpus cpus;
  std::uint32_t sockets = 1;
  std::uint32_t cores_per_socket = 1;
  std::uint32_t smt_ways = 1;
  bool all_cpus_usable = true;                // by this process, so that the counts are the machine's
  bool virtual_machine = false;               // a hypervisor is under it
  std::uint64_t first_level_cache_bytes = 0;  // for data, of the first CPU; 0: not told
  std::uint64_t last_level_cache_bytes = 0;   // that of the first CPU; 0: not told
  std::uint64_t available_memory_bytes = 0;
  std::string kernel_release;  // uname -r
  bool packs_cpus = false;     // as its command line says
  bool autogroups = false;     // a session's threads compete as a group (kernel.sched_autogroup_enabled)
};

[[nodiscard]] MachineFacts machine_facts();

// Parts of it, from texts.
// "32K", "480M": what a cache's size file holds; 0 for anything else.
[[nodiscard]] std::uint64_t parse_cache_size(std::string_view text);
// Whether the kernel keeps threads together to save waking virtual CPUs, by its command line:
// sched_vcpu_pack, which some kernels of virtual machines have, other than 0.
[[nodiscard]] bool packs_cpus(std::string_view command_line);
// Linux has EEVDF in place of CFS from 6.6 on (kernel/sched/fair.c).
[[nodiscard]] bool has_eevdf(std::string_view kernel_release);
// Its groups of threads are placed anew by their lag when their weight changes, from 6.13 on.
[[nodiscard]] bool reweighs_by_lag(std::string_view kernel_release);

}  // namespace rkv::calibration
