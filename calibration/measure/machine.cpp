#include "calibration/measure/machine.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "backends/verbs/port/cpu_set.hpp"
#include "calibration/measure/text_of_file.hpp"

namespace rkv::calibration {
namespace {

std::string of_cpu(int cpu, std::string_view file) {
  return text_of_file(fmt::format("/sys/devices/system/cpu/cpu{}/{}", cpu, file));
}

std::vector<int> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> result;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return verbs::online_cpus();
  for (const int cpu : verbs::online_cpus()) {
    if (cpu < CPU_SETSIZE && CPU_ISSET(static_cast<std::size_t>(cpu), &set)) result.push_back(cpu);
  }
  return result;
}

// Of socket and core, as the kernel numbers them.
std::pair<std::string, std::string> core_of(int cpu) {
  return {of_cpu(cpu, "topology/physical_package_id"), of_cpu(cpu, "topology/core_id")};
}

MeasuredCpus choose_cpus() {
  MeasuredCpus chosen;
  chosen.all = usable_cpus();
  chosen.first = chosen.all.front();
  const auto core = core_of(chosen.first);
  bool same_socket = false;
  for (const int cpu : chosen.all) {
    if (cpu == chosen.first) continue;
    const auto other = core_of(cpu);
    // Without a topology every CPU counts as a core.
    if (other == core && !core.second.empty()) {
      if (!chosen.sibling) chosen.sibling = cpu;
    } else if (!chosen.second || (!same_socket && other.first == core.first)) {
      chosen.second = cpu;
      same_socket = other.first == core.first;
    }
  }
  return chosen;
}

struct Cache {
  int level = 0;
  bool has_data = false;
  std::uint64_t bytes = 0;
};

// In the order of their numbers.
std::vector<Cache> caches_of(int cpu) {
  std::vector<Cache> caches;
  for (int index = 0; index < 8; ++index) {
    const std::string folder = fmt::format("cache/index{}/", index);
    const std::string level = of_cpu(cpu, folder + "level");
    if (level.empty()) break;
    caches.push_back({.level = level[0] - '0',
                      .has_data = of_cpu(cpu, folder + "type") != "Instruction",
                      .bytes = parse_cache_size(of_cpu(cpu, folder + "size"))});
  }
  return caches;
}

std::uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t kib = 0;
  std::string unit;
  while (file >> name >> kib) {
    std::getline(file, unit);
    if (name == "MemAvailable:") return kib * 1024;
  }
  return 0;
}

bool has_hypervisor() {
  const std::string cpuinfo = text_of_file("/proc/cpuinfo");
  return cpuinfo.find(" hypervisor") != std::string::npos || !text_of_file("/sys/hypervisor/type").empty();
}

bool is_from(std::string_view kernel_release, std::pair<unsigned, unsigned> first) {
  unsigned major = 0;
  unsigned minor = 0;
  if (std::sscanf(std::string(kernel_release).c_str(), "%u.%u", &major, &minor) != 2) return false;
  return std::pair(major, minor) >= first;
}

}  // namespace

std::uint64_t parse_cache_size(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end + 1 != text.data() + text.size()) return 0;
  switch (*end) {
    case 'K':
      return number << 10;
    case 'M':
      return number << 20;
    case 'G':
      return number << 30;
    default:
      return 0;
  }
}

bool has_eevdf(std::string_view kernel_release) {
  return is_from(kernel_release, {6, 6});
}

bool reweighs_by_lag(std::string_view kernel_release) {
  return is_from(kernel_release, {6, 13});
}

bool packs_cpus(std::string_view command_line) {
  std::istringstream words{std::string(command_line)};
  constexpr std::string_view name = "sched_vcpu_pack=";
  for (std::string word; words >> word;) {
    if (word.starts_with(name)) return word.substr(name.size()) != "0";
  }
  return false;
}

MachineFacts machine_facts() {
  MachineFacts facts;
  facts.cpus = choose_cpus();
  std::set<std::string> sockets;
  std::set<std::pair<std::string, std::string>> cores;
  const std::vector<int> online = verbs::online_cpus();
  for (const int cpu : online) {
    const auto core = core_of(cpu);
    sockets.insert(core.first);
    // Without a topology every CPU counts as a core.
    cores.insert(core.second.empty() ? std::pair(core.first, std::to_string(cpu)) : core);
  }
  facts.sockets = static_cast<std::uint32_t>(sockets.size());
  facts.cores_per_socket = static_cast<std::uint32_t>(cores.size() / sockets.size());
  facts.smt_ways = static_cast<std::uint32_t>(online.size() / cores.size());
  facts.all_cpus_usable = facts.cpus.all.size() == online.size();
  facts.virtual_machine = has_hypervisor();
  int last_level = 0;
  for (const Cache& cache : caches_of(facts.cpus.first)) {
    if (cache.level == 1 && cache.has_data) facts.first_level_cache_bytes = cache.bytes;
    if (cache.level < last_level) continue;
    last_level = cache.level;
    facts.last_level_cache_bytes = cache.bytes;
  }
  facts.available_memory_bytes = available_memory();
  utsname system{};
  if (::uname(&system) == 0) facts.kernel_release = system.release;
  facts.packs_cpus = packs_cpus(text_of_file("/proc/cmdline"));
  facts.autogroups = text_of_file("/proc/sys/kernel/sched_autogroup_enabled") == "1";
  return facts;
}

}  // namespace rkv::calibration
