#include "core/report/machine.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace rkv {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t";
  const auto first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

}  // namespace

// One paragraph of "name : value" lines a logical CPU.
MachineInfo parse_cpuinfo(std::string_view text) {
  MachineInfo machine;
  std::set<std::string_view> sockets;
  std::set<std::pair<std::string_view, std::string_view>> cores;
  std::string_view socket;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size() - 1);
    const auto line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) {
      continue;
    }
    const auto name = trimmed(line.substr(0, colon));
    const auto value = trimmed(line.substr(colon + 1));
    if (name == "processor") {
      ++machine.threads;
    } else if (name == "model name") {
      machine.cpu_model = value;
    } else if (name == "physical id") {
      socket = value;
      sockets.insert(value);
    } else if (name == "core id") {
      cores.emplace(socket, value);
    }
  }
  machine.sockets = std::max(static_cast<std::uint32_t>(sockets.size()), machine.threads == 0 ? 0U : 1U);
  machine.cores = cores.empty() ? machine.threads : static_cast<std::uint32_t>(cores.size());
  return machine;
}

MachineInfo this_machine() {
  std::ifstream file("/proc/cpuinfo");
  const std::string cpuinfo{std::istreambuf_iterator<char>(file), {}};
  auto machine = parse_cpuinfo(cpuinfo);
  utsname system{};
  if (uname(&system) == 0) {
    machine.kernel = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  }
  const auto pages = sysconf(_SC_PHYS_PAGES);
  const auto page_bytes = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_bytes > 0) {
    machine.memory_bytes = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
  }
  return machine;
}

nlohmann::json to_json(const MachineInfo& machine) {
  return {{"cpu_model", machine.cpu_model}, {"sockets", machine.sockets},
          {"cores", machine.cores},         {"threads", machine.threads},
          {"kernel", machine.kernel},       {"memory_bytes", machine.memory_bytes}};
}

}  // namespace rkv
