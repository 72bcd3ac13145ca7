#include "calibration/curves/predictions.hpp"

#include <algorithm>

#include "calibration/curves/csv.hpp"
#include "calibration/curves/read_values.hpp"

namespace rkv::calibration {

bool has_predictions(const std::filesystem::path& path) {
  const auto rows = read_csv(path);
  return !rows.empty() && std::ranges::find(rows.front().cells, predicted_column) != rows.front().cells.end();
}

PointFile read_predictions(const std::filesystem::path& path) {
  PointFile file = read_values(path, predicted_column, Values::optional);
  std::erase_if(file.points, [](const Point& point) { return !point.value; });
  return file;
}

}  // namespace rkv::calibration
