#include "backends/sim/run/simgrid_options.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "backends/sim/engine/platform.hpp"
#include "core/error.hpp"

namespace rkv::sim {
namespace {

[[noreturn]] void try_option(const std::string& option) {
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);  // it would show a backtrace
  try {
    simgrid_engine({option});
  } catch (const std::exception&) {
    ::_exit(1);
  }
  ::_exit(0);
}

}  // namespace

void check_simgrid_options(const std::vector<std::string>& options) {
  for (const std::string& option : options) {
    std::fflush(nullptr);  // or both processes would write what is buffered
    const pid_t pid = ::fork();
    if (pid == 0) try_option(option);
    int status = 0;
    if (pid < 0 || ::waitpid(pid, &status, 0) < 0) {
      throw Error(fmt::format("--cfg {} could not be tried: {}", option, std::strerror(errno)));
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      throw InputError(fmt::format(
          "--cfg {}: SimGrid does not take this; allowed: KEY:VALUE, as \"Configuring SimGrid\" in "
          "its manual has them, for example contexts/factory:thread",
          option));
    }
  }
}

}  // namespace rkv::sim
