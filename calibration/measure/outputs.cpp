#include "calibration/measure/outputs.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "calibration/curves/output_file.hpp"
#include "core/error.hpp"

namespace rkv::calibration {
namespace fs = std::filesystem;

Outputs::Outputs(fs::path profile, bool replace) : profile_(std::move(profile)), replace_(replace) {
  if (profile_.extension() != ".json" || profile_.stem().empty()) {
    throw InputError(fmt::format("--out {}: name the profile something.json", profile_.string()));
  }
  measurements_ = fs::path(profile_).replace_extension(".measurements.json");
  for (const fs::path& file : {profile_, measurements_}) check_output_file(file, replace_);
}

void Outputs::write(std::string_view profile_text, std::string_view measurements_text) const {
  PendingFile measurements(measurements_, measurements_text);
  PendingFile profile(profile_, profile_text);
  measurements.put(replace_);
  try {
    profile.put(replace_);
  } catch (...) {
    std::error_code ignored;
    if (!replace_) fs::remove(measurements_, ignored);
    throw;
  }
}

}  // namespace rkv::calibration
