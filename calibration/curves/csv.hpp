// CSV files (RFC 4180, by libcsv), strictly: what a lenient parser would guess at is refused.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace rkv::calibration {

struct CsvRow {
  std::size_t line = 0;  // in its file, the first is 1
  std::vector<std::string> cells;
};

// All rows, the header among them. Blank lines are left out, spaces around cells without quotes too; a mark
// of the byte order at the start is skipped, and lines may end in CR LF. Throws InputError (file:line) when
// the file can't be read, quotes are misplaced, a cell goes over the end of its line, or a row has more or
// fewer cells than the first.
[[nodiscard]] std::vector<CsvRow> read_csv(const std::filesystem::path& path);

}  // namespace rkv::calibration
