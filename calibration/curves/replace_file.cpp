#include "calibration/curves/replace_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "core/error.hpp"

namespace rkv::calibration {

void replace_file(const std::filesystem::path& path, std::string_view text) {
  // By the process, so that two programs don't write into each other's.
  const auto temporary = path.parent_path() / fmt::format(".{}.{}.new", path.filename().string(), ::getpid());
  errno = 0;
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  std::error_code failed;
  if (!file) {
    failed = std::error_code(errno, std::generic_category());
  } else {
    std::filesystem::rename(temporary, path, failed);
  }
  if (failed) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw Error(fmt::format("cannot write {}: {}", path.string(), failed.message()));
  }
}

}  // namespace rkv::calibration
