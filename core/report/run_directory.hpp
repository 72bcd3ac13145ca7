// The directory of one run: report.json, run_info.json, summary.csv, a latency_<clients>.hgrm a point, and
// traces.
//
// Nothing that exists is ever overwritten: the directory is new or empty when a run takes it, and taking it
// is atomic, so two programs can't take the same one. The .json files and summary.csv are replaced as a whole
// after every point (written beside, then renamed), so a run that is killed keeps what it had.
// Not thread-safe: one thread owns it.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/report/report.hpp"
#include "core/report/run_info.hpp"

namespace rkv {

class RunDirectory {
 public:
  // Takes `path`, which must not exist or be an empty directory; throws InputError otherwise, and Error when
  // it can't be made.
  static RunDirectory at(const std::filesystem::path& path);

  // Takes results/<scenario>-<UTC time>, or with -2, -3, ... behind it when that is taken. Throws Error when
  // it can't be made.
  static RunDirectory fresh(const std::filesystem::path& results, std::string_view scenario,
                            std::chrono::sys_seconds time);

  // Removes the directory again if nothing was written into it and this made it.
  ~RunDirectory();
  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // A place for a point's trace in this directory: trace_<clients>.<ending>.
  [[nodiscard]] std::filesystem::path trace_file(std::uint32_t clients, std::string_view ending) const;

  // Writes the report as it stands. Points that earlier calls had must still be there, unchanged; the new
  // ones get their histogram files. Throws Error when something can't be written.
  void write(const Report& report);
  // Writes run_info.json, with the wall time up to now. After write(); as often as one likes.
  void write_run_info(const RunInfo& run) const;

 private:
  RunDirectory(std::filesystem::path path, bool made);
  void replace(std::string_view name, std::string_view text) const;

  std::filesystem::path path_;
  bool made_ = false;     // by us, not found empty
  bool written_ = false;  // report.json is a report, not just the claim
  std::size_t points_written_ = 0;
};

// Where --out puts a scenario's run: at `out` itself if it is the only one, else in it, by the scenario's
// name.
[[nodiscard]] std::filesystem::path directory_of(const std::filesystem::path& out, std::string_view scenario,
                                                 std::size_t scenarios);

}  // namespace rkv
