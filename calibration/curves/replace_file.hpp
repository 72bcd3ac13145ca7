// Files that are never seen half-written.
#pragma once

#include <filesystem>
#include <string_view>

namespace rkv::calibration {

// Writes a temporary file beside it and renames that. Throws Error when it can't be written; then the file is
// what it was.
void replace_file(const std::filesystem::path& path, std::string_view text);

}  // namespace rkv::calibration
