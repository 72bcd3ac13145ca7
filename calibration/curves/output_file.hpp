// Files that a command writes: refused before it starts, and never seen half-written.
#pragma once

#include <filesystem>
#include <string_view>

namespace rkv::calibration {

// Throws InputError when it cannot be written: its folder is not there or not writable, it is no file, or it
// is one already and `replace` is not set.
void check_output_file(const std::filesystem::path& file, bool replace);

// A text on its way to a file: written beside it, and gone again unless it was put there. Throws Error when
// it cannot be written.
class PendingFile {
 public:
  PendingFile(std::filesystem::path file, std::string_view text);
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  // As a whole, and for good. Throws Error when that fails, also since there is such a file and `replace` is
  // not set; then that is what it was.
  void put(bool replace);

 private:
  void remove() const;

  const std::filesystem::path file_;
  const std::filesystem::path temporary_;
};

void replace_file(const std::filesystem::path& file, std::string_view text);

}  // namespace rkv::calibration
