// What is in one of Linux's small files (/proc, /sys).
#pragma once

#include <filesystem>
#include <string>

namespace rkv::calibration {

// Without newlines at its end; empty if it cannot be read.
[[nodiscard]] std::string text_of_file(const std::filesystem::path& path);

}  // namespace rkv::calibration
