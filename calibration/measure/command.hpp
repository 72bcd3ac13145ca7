// rkv-calibrate measure: the subcommand.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rkv::calibration {

struct MeasureOptions {
  std::filesystem::path out;
  std::string device = "soft0";
  std::filesystem::path base;  // empty: that of soft0, compiled in
  bool quick = false;
  bool force = false;
  std::vector<std::string> command_line;  // for the record
};

// Gives the exit code: 130 when it was interrupted, which writes nothing. Throws InputError before anything
// is started, rkv::Error later.
int measure(const MeasureOptions& options);

}  // namespace rkv::calibration
