#include "backends/verbs/port/system_error.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

namespace rkv::verbs {
namespace {

std::string_view hint(std::string_view call, int error_number) {
  const bool of_verbs = call.starts_with("ibv_");
  switch (error_number) {
    case ENOMEM:
      return call == "ibv_reg_mr" ? "locked memory is limited: raise it with `ulimit -l unlimited`"
                                  : "out of memory or past a limit of the device: use smaller queues, fewer "
                                    "clients, or raise `ulimit -l`";
    case EMFILE:
      return "this process has too many files open: raise the limit with `ulimit -n`, or use fewer clients";
    case ENFILE:
      return "the system has too many files open: raise /proc/sys/fs/file-max";
    case EACCES:
    case EPERM:
      return of_verbs ? "may this user open /dev/infiniband/uverbs*?" : "this user may not do that";
    case EINVAL:
      return of_verbs ? "a size or attribute is beyond what the device can do" : "";
    case EAGAIN:
      return "a limit on threads or memory was reached: see `ulimit -u`";
    case EADDRNOTAVAIL:
      return "this host has no such address: see `ip address`";
    case EADDRINUSE:
      return "another program uses it";
    case ECONNREFUSED:
      return "nobody listens there: is the server running?";
    default:
      return "";
  }
}

}  // namespace

Error system_error(std::string_view where, std::string_view call, int error_number) {
  const std::string text = std::generic_category().message(error_number);
  const std::string_view advice = hint(call, error_number);
  return Error(advice.empty() ? fmt::format("{}: {} failed: {}", where, call, text)
                              : fmt::format("{}: {} failed: {} ({})", where, call, text, advice));
}

}  // namespace rkv::verbs
