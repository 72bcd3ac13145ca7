#include "core/report/run_info.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <utility>

#include "core/report/machine.hpp"
#include "core/report/version.hpp"

namespace rkv {

RunInfo this_run(std::vector<std::string> command_line) {
  utsname system{};
  return {.host_name = uname(&system) == 0 ? system.nodename : "unknown",
          .start_time = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()),
          .started = std::chrono::steady_clock::now(),
          .program_version = std::string(program_version()),
          .command_line = std::move(command_line),
          .machine = to_json(this_machine())};
}

nlohmann::ordered_json run_info_json(const RunInfo& run) {
  const std::chrono::duration<double> wall_time = std::chrono::steady_clock::now() - run.started;
  return {{"host_name", run.host_name},       {"start_time", utc_text(run.start_time)},
          {"wall_time_s", wall_time.count()}, {"program_version", run.program_version},
          {"command_line", run.command_line}, {"machine", run.machine}};
}

std::string utc_text(std::chrono::sys_seconds time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", time);
}

}  // namespace rkv
