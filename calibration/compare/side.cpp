#include "calibration/compare/side.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "calibration/curves/predictions.hpp"
#include "calibration/curves/report_points.hpp"
#include "core/error.hpp"

namespace rkv::calibration {
namespace {

constexpr const char* report_name = "report.json";

// Of a run's directory, or of those in it (a sweep's).
std::vector<std::filesystem::path> reports_in(const std::filesystem::path& directory) {
  if (std::filesystem::exists(directory / report_name)) {
    return {directory / report_name};
  }
  std::vector<std::filesystem::path> reports;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (std::filesystem::exists(entry.path() / report_name, error)) {
      reports.push_back(entry.path() / report_name);
    }
  }
  if (reports.empty()) {
    throw InputError(fmt::format(
        "{}: no report.json in this directory, nor in one directly in it; give the directory of a run",
        directory.string()));
  }
  std::ranges::sort(reports);
  return reports;
}

Side side_of_reports(const std::filesystem::path& path, const std::vector<std::filesystem::path>& reports) {
  Side side;
  side.source = path.string();
  std::map<std::tuple<std::string, std::string, std::uint32_t, std::string>, std::string> owners;
  for (const auto& report : reports) {
    const ReportPoints read = read_report_points(report);
    if (side.points.empty()) {
      side.outstanding = read.outstanding;
    } else if (side.outstanding != read.outstanding) {
      throw InputError(fmt::format(
          "{}: /scenario/load: its clients have another number of operations under way than those of {}; "
          "compare the runs one by one",
          read.source, reports.front().string()));
    }
    for (const Point& point : read.points) {
      const auto [owner, is_new] =
          owners.try_emplace({point.transport, point.completion, point.clients, point.metric}, read.source);
      if (!is_new) {
        throw InputError(
            fmt::format("{}: /points: {} {} at clients = {} is in {} too; compare the runs one by one",
                        read.source, point.transport, point.completion, point.clients, owner->second));
      }
      side.points.push_back(point);
    }
    side.warnings.insert(side.warnings.end(), read.warnings.begin(), read.warnings.end());
  }
  return side;
}

Side side_of(const std::filesystem::path& path, PointFile (*read_csv_file)(const std::filesystem::path&)) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return side_of_reports(path, reports_in(path));
  }
  if (path.extension() == ".json") {
    return side_of_reports(path, {path});
  }
  Side side;
  static_cast<PointFile&>(side) = read_csv_file(path);
  return side;
}

}  // namespace

Side measured_side(const std::filesystem::path& path) {
  // Without values too: a file of predictions may have points that nobody measured.
  return side_of(path, [](const auto& file) {
    return read_points(file, has_predictions(file) ? Values::optional : Values::required);
  });
}

Side predicted_side(const std::filesystem::path& path) {
  return side_of(path, [](const auto& file) {
    return has_predictions(file) ? read_predictions(file) : read_points(file, Values::required);
  });
}

}  // namespace rkv::calibration
