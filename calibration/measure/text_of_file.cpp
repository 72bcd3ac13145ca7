#include "calibration/measure/text_of_file.hpp"

#include <fstream>
#include <iterator>

namespace rkv::calibration {

std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace rkv::calibration
