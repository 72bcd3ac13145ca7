// The machine a run was made on, as far as it matters for reading its numbers. Its name is left out.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace rkv {

struct MachineInfo {
  std::string cpu_model = "unknown";
  std::uint32_t sockets = 0;
  std::uint32_t cores = 0;  // physical ones, of all sockets; equal to threads where the kernel does not tell
  std::uint32_t threads = 0;  // logical CPUs that are online
  std::string kernel;         // system, release, architecture
  std::uint64_t memory_bytes = 0;
};

// Reads /proc/cpuinfo, uname(2) and sysconf(3).
[[nodiscard]] MachineInfo this_machine();

// The CPU's part of it, from the text of /proc/cpuinfo.
[[nodiscard]] MachineInfo parse_cpuinfo(std::string_view text);

[[nodiscard]] nlohmann::json to_json(const MachineInfo& machine);

}  // namespace rkv
