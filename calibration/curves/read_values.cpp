#include "calibration/curves/read_values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "calibration/curves/consistency.hpp"
#include "calibration/curves/csv.hpp"
#include "calibration/curves/limits.hpp"
#include "core/error.hpp"
#include "core/scenario/names.hpp"

namespace rkv::calibration {
namespace {

constexpr std::size_t most_problems = 20;  // told at once
constexpr double most_clients = 65536;     // as in a scenario

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char sign) { return static_cast<char>(std::tolower(sign)); });
  return text;
}

template <typename Enum>
std::vector<std::string_view> words() {
  std::vector<std::string_view> all;
  for (const auto& [value, word] : EnumNames<Enum>::values) {
    all.push_back(word);
  }
  return all;
}

std::optional<double> number(const std::string& text) {
  double value = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

// One line of the file.
struct Row {
  Point point;
  std::vector<std::string> others;  // cells of columns that mean nothing here
};

auto key_of(const Point& point) {
  return std::tie(point.transport, point.completion, point.scenario, point.clients, point.metric);
}

class Reader {
 public:
  Reader(const std::filesystem::path& path, std::string_view value_column, Values values)
      : source_(path.string()), value_column_(value_column), values_(values), rows_(read_csv(path)) {}

  PointFile read() {
    find_columns();
    std::vector<Row> rows;
    for (auto row = rows_.begin() + 1; row != rows_.end(); ++row) {
      rows.push_back(row_of(*row));
    }
    end_if_any();
    if (rows.empty()) {
      throw InputError(fmt::format("{}:{}: no points follow the header; give a line for each value", source_,
                                   rows_.front().line));
    }
    PointFile file{.source = source_, .points = {}, .warnings = {}};
    merge(rows, file);
    for (const Inconsistency& wrong : inconsistencies(file.points)) {
      problem(wrong.line, wrong.text);
    }
    end_if_any();
    return file;
  }

 private:
  void problem(std::size_t line, std::string_view text) {
    problems_.push_back(fmt::format("{}:{}: {}", source_, line, text));
  }

  void end_if_any() {
    if (problems_.empty()) {
      return;
    }
    if (problems_.size() > most_problems) {
      const std::size_t more = problems_.size() - most_problems;
      problems_.resize(most_problems);
      problems_.push_back(fmt::format("{}: and {} more", source_, more));
    }
    throw InputError(fmt::format("{}", fmt::join(problems_, "\n")));
  }

  void find_columns() {
    if (rows_.empty()) {
      throw InputError(
          fmt::format("{}:1: the file is empty; its first line names the columns: transport, completion, "
                      "clients, metric, {}",
                      source_, value_column_));
    }
    const auto& header = rows_.front();
    for (std::size_t index = 0; index < header.cells.size(); ++index) {
      if (!columns_.emplace(header.cells[index], index).second) {
        problem(header.line, fmt::format("two columns \"{}\"; rename or remove one", header.cells[index]));
      }
    }
    for (const std::string_view name :
         {std::string_view("transport"), std::string_view("completion"), std::string_view("clients"),
          std::string_view("metric"), value_column_}) {
      if (!columns_.contains(name)) {
        problem(
            header.line,
            fmt::format("there is no column \"{}\"; the header has to name transport, completion, clients, "
                        "metric and {}",
                        name, value_column_));
      }
    }
    end_if_any();
  }

  const std::string& cell(const CsvRow& row, std::string_view column) const {
    return row.cells[columns_.find(column)->second];
  }

  std::string word(const CsvRow& row, std::string_view column, const std::vector<std::string_view>& allowed) {
    std::string text = lower(cell(row, column));
    if (std::ranges::find(allowed, text) == allowed.end()) {
      problem(row.line,
              fmt::format("{} is \"{}\"; allowed: {}", column, cell(row, column), fmt::join(allowed, ", ")));
    }
    return text;
  }

  std::uint32_t clients(const CsvRow& row) {
    const std::string& text = cell(row, "clients");
    const auto value = number(text);
    if (!value || *value < 1 || *value > most_clients || *value != std::floor(*value)) {
      problem(row.line,
              fmt::format("clients is \"{}\"; allowed: a whole number from 1 to {}", text, most_clients));
      return 0;
    }
    return static_cast<std::uint32_t>(*value);
  }

  std::optional<double> measured(const CsvRow& row, std::string_view column, const std::string& metric,
                                 std::string (*wrong)(std::string_view, double)) {
    const std::string& text = cell(row, column);
    if (text.empty()) {
      return std::nullopt;
    }
    const auto value = number(text);
    if (!value) {
      problem(row.line,
              fmt::format("{} is \"{}\", no number; write it as 1234.5, without a unit", column, text));
    } else if (const std::string why = wrong(metric, *value); !why.empty()) {
      problem(row.line, fmt::format("{}: {}", column, why));
    }
    return value;
  }

  Row row_of(const CsvRow& row) {
    Row result;
    Point& point = result.point;
    point.line = row.line;
    point.transport = word(row, "transport", words<Transport>());
    point.completion = word(row, "completion", words<CompletionMode>());
    point.clients = clients(row);
    if (columns_.contains("scenario")) point.scenario = cell(row, "scenario");
    point.metric = word(row, "metric", {metrics().begin(), metrics().end()});
    if (std::ranges::find(metrics(), point.metric) != metrics().end()) {
      point.value = measured(row, value_column_, point.metric, &value_problem);
      if (values_ == Values::required && cell(row, value_column_).empty()) {
        problem(row.line, fmt::format("{} is empty; give a value, or remove the line", value_column_));
      }
      // The spread is that of what was measured, whichever column is read.
      if (columns_.contains("spread") && value_column_ == "value") {
        point.spread = measured(row, "spread", point.metric, &spread_problem);
        if (point.spread && !point.value) {
          problem(row.line, "a spread without a value; give both, or none");
        }
      }
    }
    for (const auto& [name, index] : columns_) {
      const bool read = name == "transport" || name == "completion" || name == "clients" ||
                        name == "metric" || name == "scenario" || name == value_column_ ||
                        (name == "spread" && value_column_ == "value");
      if (!read) {
        result.others.push_back(row.cells[index]);
      }
    }
    return result;
  }

  // Gathers the lines of each key, in the order in which the first of each stands.
  void merge(const std::vector<Row>& rows, PointFile& file) {
    std::vector<std::vector<const Row*>> groups;
    std::map<std::tuple<std::string, std::string, std::string, std::uint32_t, std::string>, std::size_t>
        group_of;
    for (const Row& row : rows) {
      const auto [place, is_new] = group_of.emplace(key_of(row.point), groups.size());
      if (is_new) {
        groups.emplace_back();
      }
      auto& group = groups[place->second];
      for (const Row* before : group) {
        if (before->point.value == row.point.value && before->point.spread == row.point.spread &&
            before->others == row.others) {
          problem(row.point.line, fmt::format("the same as line {}; remove one", before->point.line));
          break;
        }
      }
      group.push_back(&row);
    }
    std::vector<std::string> averaged;
    for (const auto& group : groups) {
      file.points.push_back(average(group));
      if (group.size() > 1) {
        const Point& point = group.front()->point;
        averaged.push_back(fmt::format("{} {} {} at clients = {}, {} times from line {} on", point.transport,
                                       point.completion, point.metric, point.clients, group.size(),
                                       point.line));
      }
    }
    if (!averaged.empty()) {
      constexpr std::size_t shown = 3;
      const std::size_t more = averaged.size() - std::min(averaged.size(), shown);
      averaged.resize(averaged.size() - more);
      file.warnings.push_back(fmt::format("{}: points that occur several times were averaged: {}{}", source_,
                                          fmt::join(averaged, "; "),
                                          more > 0 ? fmt::format("; and {} more", more) : std::string()));
    }
  }

  static Point average(const std::vector<const Row*>& replicates) {
    Point result = replicates.front()->point;
    if (replicates.size() == 1) {
      return result;
    }
    double sum = 0;
    double squared_spreads = 0;
    std::size_t values = 0;
    std::size_t spreads = 0;
    for (const Row* row : replicates) {
      if (row->point.value) {
        sum += *row->point.value;
        ++values;
      }
      if (row->point.spread) {
        squared_spreads += *row->point.spread * *row->point.spread;
        ++spreads;
      }
    }
    if (values == 0) {
      return result;
    }
    const double mean = sum / static_cast<double>(values);
    result.value = mean;
    if (spreads > 0) {
      result.spread = std::sqrt(squared_spreads / static_cast<double>(spreads));
    } else if (values > 1) {
      double squares = 0;
      for (const Row* row : replicates) {
        if (row->point.value) {
          squares += (*row->point.value - mean) * (*row->point.value - mean);
        }
      }
      result.spread = std::sqrt(squares / static_cast<double>(values - 1));
    }
    return result;
  }

  std::string source_;
  std::string_view value_column_;
  Values values_;
  std::vector<CsvRow> rows_;
  std::map<std::string, std::size_t, std::less<>> columns_;
  std::vector<std::string> problems_;
};

}  // namespace

PointFile read_values(const std::filesystem::path& path, std::string_view column, Values values) {
  return Reader(path, column, values).read();
}

}  // namespace rkv::calibration
