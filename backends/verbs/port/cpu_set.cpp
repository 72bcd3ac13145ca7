#include "backends/verbs/port/cpu_set.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>

#include "backends/verbs/port/system_error.hpp"

namespace rkv::verbs {
namespace {

constexpr const char* online_file = "/sys/devices/system/cpu/online";

// Room for any CPU number the kernel may use; cpu_set_t itself ends at 1024.
class CpuMask {
 public:
  explicit CpuMask(int cpus)
      : bytes_(CPU_ALLOC_SIZE(cpus)), words_((bytes_ + sizeof(cpu_set_t) - 1) / sizeof(cpu_set_t)) {
    CPU_ZERO_S(bytes_, get());
  }
  cpu_set_t* get() { return words_.data(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  void add(int cpu) { CPU_SET_S(static_cast<std::size_t>(cpu), bytes_, get()); }
  bool equals(CpuMask& other) { return CPU_EQUAL_S(bytes_, get(), other.get()); }

 private:
  std::size_t bytes_;
  std::vector<cpu_set_t> words_;
};

}  // namespace

std::vector<int> parse_cpu_list(std::string_view list) {
  std::vector<int> cpus;
  while (!list.empty()) {
    const std::string_view range = list.substr(0, list.find(','));
    int first = 0;
    int last = 0;
    const char* end = range.data() + range.size();
    const auto [after_first, failure] = std::from_chars(range.data(), end, first);
    if (failure != std::errc{}) break;
    last = first;
    if (after_first != end && *after_first == '-') std::from_chars(after_first + 1, end, last);
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    list.remove_prefix(std::min(range.size() + 1, list.size()));
  }
  return cpus;
}

std::vector<int> online_cpus() {
  std::string list;
  std::getline(std::ifstream(online_file) >> std::ws, list);
  std::vector<int> cpus = parse_cpu_list(list);
  if (cpus.empty()) throw Error(fmt::format("cores: {} does not say which CPUs are online", online_file));
  return cpus;
}

void require_online(std::string_view thread_name, const std::vector<int>& cores) {
  if (cores.empty()) return;
  const std::vector<int> online = online_cpus();
  for (const int core : cores) {
    if (std::find(online.begin(), online.end(), core) == online.end()) {
      throw Error(
          fmt::format("thread '{}': it shall run on CPU {}, which this machine does not have online; "
                      "its CPUs are {}",
                      thread_name, core, fmt::join(online, ",")));
    }
  }
}

void pin_this_thread(std::string_view thread_name, const std::vector<int>& cores) {
  if (cores.empty()) return;
  const int past_last = std::max(*std::max_element(cores.begin(), cores.end()), online_cpus().back()) + 1;
  // The kernel refuses to report into a mask smaller than its own, whose size it does not tell.
  const int room = std::max(past_last, 8192);
  CpuMask wanted(room);
  for (const int core : cores) wanted.add(core);
  if (::sched_setaffinity(0, wanted.bytes(), wanted.get()) != 0) {
    throw system_error(fmt::format("thread '{}'", thread_name),
                       fmt::format("sched_setaffinity to CPUs {}", fmt::join(cores, ",")), errno);
  }
  CpuMask granted(room);
  if (::sched_getaffinity(0, granted.bytes(), granted.get()) != 0) {
    throw system_error(fmt::format("thread '{}'", thread_name), "sched_getaffinity", errno);
  }
  if (!granted.equals(wanted)) {
    throw Error(
        fmt::format("thread '{}': this process may not use all of the CPUs {}; see "
                    "Cpus_allowed_list in /proc/self/status",
                    thread_name, fmt::join(cores, ",")));
  }
}

}  // namespace rkv::verbs
