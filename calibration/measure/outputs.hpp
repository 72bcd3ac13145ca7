// The two files that a measurement writes: the profile, and beside it the figures with their spreads.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace rkv::calibration {

class Outputs {
 public:
  // Throws InputError when the name does not end in .json, its folder does not exist, or one of the files
  // does and may not be replaced.
  Outputs(std::filesystem::path profile, bool replace);

  [[nodiscard]] const std::filesystem::path& profile() const { return profile_; }
  // my.json's is my.measurements.json.
  [[nodiscard]] const std::filesystem::path& measurements() const { return measurements_; }

  // Both, or none of them: each is written beside its place and put there as a whole, the profile last. What
  // came to be there meanwhile is not replaced unless it may be. Throws rkv::Error.
  void write(std::string_view profile_text, std::string_view measurements_text) const;

 private:
  std::filesystem::path profile_;
  std::filesystem::path measurements_;
  bool replace_;
};

}  // namespace rkv::calibration
