#include "core/report/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace rkv {
namespace {

using std::chrono::nanoseconds;

// Three digits and a prefix: 999, 1.20 k, 12.0 M.
std::string short_number(double number) {
  constexpr std::string_view prefixes[] = {"", " k", " M", " G", " T"};
  std::size_t prefix = 0;
  while (number >= 999.5 && prefix + 1 < std::size(prefixes)) {
    number /= 1000;
    ++prefix;
  }
  const int decimals = prefix == 0 || number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}{}", number, decimals, prefixes[prefix]);
}

// Rounded up, so that the last second is "1 s".
std::string short_time(nanoseconds time) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(time).count();
  if (seconds < 100) {
    return fmt::format("{} s", seconds);
  }
  if (seconds < 100 * 60) {
    return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
  }
  return fmt::format("{} h {:02} min", seconds / 3600, seconds / 60 % 60);
}

}  // namespace

std::optional<nanoseconds> time_left(const Progress& progress) {
  if (progress.duration.count() > 0) {
    return std::max(progress.duration - progress.elapsed, nanoseconds{0});
  }
  if (progress.total_operations == 0 || progress.rate_ops_s <= 0) {
    return std::nullopt;
  }
  const auto done = std::min(progress.operations, progress.total_operations);
  constexpr double longest_s = 1e9;  // more than fits a count of nanoseconds is no help to anyone
  const double left_s =
      std::min(static_cast<double>(progress.total_operations - done) / progress.rate_ops_s, longest_s);
  return nanoseconds(static_cast<std::int64_t>(left_s * 1e9));
}

std::string format_progress(const Progress& progress, std::size_t columns) {
  auto line = fmt::format("{}: {}/{} clients, {}", progress.label, progress.clients_up, progress.clients,
                          short_number(static_cast<double>(progress.operations)));
  if (progress.total_operations != 0) {
    line += fmt::format(" of {} ops ({:.0f} %)", short_number(static_cast<double>(progress.total_operations)),
                        std::floor(100.0 * static_cast<double>(progress.operations) /
                                   static_cast<double>(progress.total_operations)));
  } else {
    line += " ops";
  }
  line += fmt::format(", {}/s", short_number(progress.rate_ops_s));
  if (const auto left = time_left(progress)) {
    line += fmt::format(", {} left", short_time(*left));
  }
  line.resize(std::min(line.size(), columns));
  return line;
}

ProgressLine::ProgressLine(int file_descriptor)
    : file_descriptor_(file_descriptor), on_terminal_(::isatty(file_descriptor) == 1) {}

ProgressLine::~ProgressLine() {
  clear();
}

void ProgressLine::show(std::string_view line) {
  if (!on_terminal_) {
    return;
  }
  // Back to the line's start, the text, and the rest of the old one erased (ECMA-48 EL).
  const auto bytes = fmt::format("\r{}\x1b[K", line);
  shown_ = ::write(file_descriptor_, bytes.data(), bytes.size()) > 0;
}

void ProgressLine::clear() {
  if (shown_) {
    show("");
    shown_ = false;
  }
}

}  // namespace rkv
