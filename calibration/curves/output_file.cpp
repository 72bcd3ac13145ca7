#include "calibration/curves/output_file.hpp"

#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "core/error.hpp"

namespace rkv::calibration {

namespace fs = std::filesystem;

void check_output_file(const fs::path& file, bool replace) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    throw InputError(fmt::format("--out: {}: there is no folder {}", file.string(), folder.string()));
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    throw InputError(fmt::format("--out: {}: cannot write in {}: {}", file.string(), folder.string(),
                                 std::strerror(errno)));
  }
  if (!fs::exists(file, error)) return;
  if (!fs::is_regular_file(file, error)) {
    throw InputError(fmt::format("--out: {} is not a file", file.string()));
  }
  if (!replace) {
    throw InputError(
        fmt::format("--out: {} exists; name another file, or replace it with --force", file.string()));
  }
}

PendingFile::PendingFile(fs::path file, std::string_view text)
    : file_(std::move(file)),
      // By the process, so that two programs don't write into each other's.
      temporary_(file_.parent_path() / fmt::format(".{}.{}.new", file_.filename().string(), ::getpid())) {
  errno = 0;
  std::ofstream stream(temporary_, std::ios::binary | std::ios::trunc);
  stream << text;
  stream.close();
  if (stream) return;
  const int why = errno;
  remove();
  throw Error(fmt::format("cannot write {}: {}", file_.string(), std::strerror(why)));
}

PendingFile::~PendingFile() {
  remove();
}

void PendingFile::put(bool replace) {
  const int result = replace ? ::rename(temporary_.c_str(), file_.c_str())
                             : ::link(temporary_.c_str(), file_.c_str());  // unlike rename, replaces nothing
  if (result == 0) return;
  throw Error(fmt::format("cannot write {}: {}", file_.string(), std::strerror(errno)));
}

void PendingFile::remove() const {
  std::error_code ignored;
  fs::remove(temporary_, ignored);
}

void replace_file(const fs::path& file, std::string_view text) {
  PendingFile(file, text).put(true);
}

}  // namespace rkv::calibration
