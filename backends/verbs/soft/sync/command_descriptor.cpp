#include "backends/verbs/soft/sync/command_descriptor.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

namespace rkv::soft {
namespace {

constexpr const char* file_name = "rkv-soft0-commands";

}  // namespace

CommandDescriptor::CommandDescriptor() : fd_(memfd_create(file_name, MFD_CLOEXEC)) {}

CommandDescriptor::~CommandDescriptor() {
  if (fd_ >= 0) close(fd_);
}

bool CommandDescriptor::is_one(int fd) {
  std::array<char, 64> target{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = readlink(link.c_str(), target.data(), target.size());
  return length > 0 && std::string_view(target.data(), static_cast<std::size_t>(length))
                           .starts_with(std::string("/memfd:") + file_name + ' ');
}

}  // namespace rkv::soft
