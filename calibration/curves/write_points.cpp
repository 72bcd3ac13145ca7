#include "calibration/curves/write_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>

#include "calibration/curves/output_file.hpp"
#include "calibration/curves/predictions.hpp"

namespace rkv::calibration {
namespace {

std::string cell(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

// A scenario may name lists, whose commas are no cells' ends.
std::string cell(const std::string& text) {
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char sign : text) quoted += sign == '"' ? "\"\"" : std::string(1, sign);
  return quoted + "\"";
}

}  // namespace

void write_points(const std::filesystem::path& path, const std::vector<Point>& points,
                  std::span<const std::optional<double>> predicted) {
  if (!predicted.empty() && predicted.size() != points.size()) {
    throw std::invalid_argument("write_points: one prediction for each point, or none at all");
  }
  const bool spreads =
      std::ranges::any_of(points, [](const Point& point) { return point.spread.has_value(); });
  std::string text = "transport,completion,clients,metric,value";
  text += spreads ? ",spread" : "";
  const bool scenarios =
      std::ranges::any_of(points, [](const Point& point) { return !point.scenario.empty(); });
  text += scenarios ? ",scenario" : "";
  text += predicted.empty() ? "\n" : fmt::format(",{}\n", predicted_column);
  for (std::size_t index = 0; index < points.size(); ++index) {
    const Point& point = points[index];
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{}", point.transport, point.completion,
                   point.clients, point.metric, cell(point.value));
    text += spreads ? "," + cell(point.spread) : "";
    text += scenarios ? "," + cell(point.scenario) : "";
    text += predicted.empty() ? "\n" : fmt::format(",{}\n", cell(predicted[index]));
  }
  replace_file(path, text);
}

}  // namespace rkv::calibration
