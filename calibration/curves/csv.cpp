#include "calibration/curves/csv.hpp"

#include <csv.h>
#include <fmt/format.h>

#include <fstream>
#include <new>
#include <string_view>
#include <utility>

#include "core/error.hpp"

namespace rkv::calibration {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

// Takes one line at a time, so that every row's line is known; a cell therefore can't hold a line's end.
class LineParser {
 public:
  LineParser() {
    if (csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI) != 0) {
      throw std::bad_alloc();
    }
  }
  ~LineParser() { csv_free(&parser_); }
  LineParser(const LineParser&) = delete;
  LineParser& operator=(const LineParser&) = delete;

  // The rows of the line: none when it is blank, several when carriage returns end lines. False: misplaced
  // quotes.
  bool parse(std::string_view line, std::vector<std::vector<std::string>>& rows) {
    found_ = {};
    if (csv_parse(&parser_, line.data(), line.size(), &on_cell, &on_row, &found_) != line.size() ||
        csv_fini(&parser_, &on_cell, &on_row, &found_) != 0) {
      return false;
    }
    rows = std::move(found_.rows);
    return true;
  }

 private:
  struct Found {
    std::vector<std::vector<std::string>> rows;
    std::vector<std::string> cells;
  };

  static void on_cell(void* text, std::size_t size, void* data) {
    static_cast<Found*>(data)->cells.emplace_back(static_cast<const char*>(text), size);
  }
  static void on_row(int /*terminator*/, void* data) {
    auto* found = static_cast<Found*>(data);
    found->rows.push_back(std::exchange(found->cells, {}));
  }

  csv_parser parser_{};
  Found found_;
};

}  // namespace

std::vector<CsvRow> read_csv(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw InputError(fmt::format("{}: there is no such file; give the path of a CSV file", path.string()));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw InputError(fmt::format("{}: the file can't be read; check its permissions", path.string()));
  }
  LineParser parser;
  std::vector<CsvRow> rows;
  std::size_t number = 0;
  std::vector<std::vector<std::string>> found;
  for (std::string line; std::getline(file, line);) {
    if (++number == 1 && line.starts_with(byte_order_mark)) {
      line.erase(0, byte_order_mark.size());
    }
    if (!parser.parse(line, found)) {
      throw InputError(
          fmt::format("{}:{}: misplaced quotes; a cell is quoted as a whole, on one line, with each quote in "
                      "it doubled, or not at all",
                      path.string(), number));
    }
    if (found.size() > 1) {
      throw InputError(fmt::format(
          "{}:{}: a carriage return within a line; end lines by a line feed (with or without one before it)",
          path.string(), number));
    }
    if (found.empty()) {
      continue;
    }
    rows.push_back({number, std::move(found.front())});
    if (const auto cells = rows.back().cells.size(); cells != rows.front().cells.size()) {
      throw InputError(
          fmt::format("{}:{}: {} cells, but the header on line {} has {}; give each column a cell",
                      path.string(), number, cells, rows.front().line, rows.front().cells.size()));
    }
  }
  if (file.bad()) {
    throw InputError(fmt::format("{}: reading the file failed after line {}", path.string(), number));
  }
  return rows;
}

}  // namespace rkv::calibration
