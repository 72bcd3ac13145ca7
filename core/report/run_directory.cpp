#include "core/report/run_directory.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.hpp"
#include "core/measure/hgrm.hpp"

namespace rkv {
namespace {

constexpr std::string_view report_name = "report.json";

[[noreturn]] void fail(std::string_view what, const std::filesystem::path& path) {
  throw Error(fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(errno)));
}

// Whether this call made the directory; false when something of that name exists.
bool make_directory(const std::filesystem::path& path) {
  if (::mkdir(path.c_str(), 0777) == 0) {
    return true;
  }
  if (errno != EEXIST) {
    fail("make the directory", path);
  }
  return false;
}

void make_parents(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    throw Error(fmt::format("cannot make the directory {}: {}", path.string(), error.message()));
  }
}

// Whether the file was made by this call; false when it exists.
bool write_new_file(const std::filesystem::path& path, std::string_view text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) {
    if (errno != EEXIST) {
      fail("write", path);
    }
    return false;
  }
  while (!text.empty()) {
    const auto bytes = ::write(file, text.data(), text.size());
    if (bytes < 0 && errno != EINTR) {
      const int why = errno;
      ::close(file);
      errno = why;
      fail("write", path);
    }
    text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
  }
  if (::close(file) != 0) {
    fail("write", path);
  }
  return true;
}

// What is no UTF-8, in a command line for instance, is replaced.
std::string text_of(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

InputError taken(const std::filesystem::path& path) {
  return InputError(
      fmt::format("--out {}: there is something in it already, and results are never overwritten; "
                  "name a directory that does not exist or is empty",
                  path.string()));
}

}  // namespace

RunDirectory::RunDirectory(std::filesystem::path path, bool made) : path_(std::move(path)), made_(made) {}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      made_(other.made_),
      written_(other.written_),
      points_written_(other.points_written_) {}

RunDirectory::~RunDirectory() {
  if (path_.empty() || written_) {
    return;
  }
  std::error_code ignored;
  std::filesystem::remove(path_ / report_name, ignored);
  if (made_) {
    std::filesystem::remove(path_, ignored);  // only if it is empty
  }
}

RunDirectory RunDirectory::at(const std::filesystem::path& path) {
  if (path.empty()) {
    throw InputError("--out needs the name of a directory");
  }
  const auto target = std::filesystem::absolute(path).lexically_normal();
  make_parents(target.has_filename() ? target.parent_path() : target.parent_path().parent_path());
  const bool made = make_directory(target);
  if (!made) {
    std::error_code error;
    if (!std::filesystem::is_directory(target, error)) {
      throw InputError(fmt::format("--out {}: this is not a directory", path.string()));
    }
    if (!std::filesystem::is_empty(target, error) || error) {
      throw taken(path);
    }
  }
  // The empty report.json is the claim: of two programs that found the directory empty, one gets it.
  if (!write_new_file(target / report_name, "")) {
    throw taken(path);
  }
  return {target, made};
}

RunDirectory RunDirectory::fresh(const std::filesystem::path& results, std::string_view scenario,
                                 std::chrono::sys_seconds time) {
  const auto base = std::filesystem::absolute(results);
  make_parents(base);
  const auto name = fmt::format("{}-{:%Y%m%dT%H%M%SZ}", scenario, time);
  for (int attempt = 1;; ++attempt) {
    const auto path = base / (attempt == 1 ? name : fmt::format("{}-{}", name, attempt));
    if (make_directory(path)) {
      return {path, true};
    }
  }
}

std::filesystem::path RunDirectory::trace_file(std::uint32_t clients, std::string_view ending) const {
  return path_ / fmt::format("trace_{}.{}", clients, ending);
}

void RunDirectory::write(const Report& report) {
  for (; points_written_ < report.points.size(); ++points_written_) {
    const auto file = path_ / histogram_file(report.points, points_written_);
    if (!write_new_file(file, hgrm(report.points[points_written_].latency))) {
      fail("write", file);
    }
  }
  replace("summary.csv", summary_csv(report.points));
  replace(report_name, text_of(report_json(report)));
  written_ = true;
}

void RunDirectory::write_run_info(const RunInfo& run) const {
  replace("run_info.json", text_of(run_info_json(run)));
}

void RunDirectory::replace(std::string_view name, std::string_view text) const {
  const auto temporary = path_ / fmt::format(".{}.new", name);
  ::unlink(temporary.c_str());  // left by a write that failed
  if (!write_new_file(temporary, text)) {
    fail("write", temporary);
  }
  if (::rename(temporary.c_str(), (path_ / name).c_str()) != 0) {
    fail("replace", path_ / name);
  }
}

std::filesystem::path directory_of(const std::filesystem::path& out, std::string_view scenario,
                                   std::size_t scenarios) {
  return scenarios == 1 ? out : out / scenario;
}

}  // namespace rkv
