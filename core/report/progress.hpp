// One line on the terminal that tells how far a run is. The caller decides how often to show it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rkv {

struct Progress {
  std::string label;             // what runs, for instance the scenario's name
  std::uint32_t clients_up = 0;  // connected
  std::uint32_t clients = 0;
  std::uint64_t operations = 0;        // done so far
  std::uint64_t total_operations = 0;  // 0: the run ends by time
  double rate_ops_s = 0;               // of late, not since the start
  std::chrono::nanoseconds elapsed{0};
  std::chrono::nanoseconds duration{0};  // 0: the run ends by operations
};

// Nothing while it can't be told: no rate yet, or neither an end by operations nor one by time.
[[nodiscard]] std::optional<std::chrono::nanoseconds> time_left(const Progress& progress);

// For instance "uc_nonblocking: 8/8 clients, 1.20 M of 10.0 M ops (12 %), 245 k/s, 36 s left".
// Cut to `columns` characters.
[[nodiscard]] std::string format_progress(const Progress& progress, std::size_t columns = 79);

// Shows such lines in one place of the terminal; does nothing where the file is not a terminal.
// Not thread-safe.
class ProgressLine {
 public:
  explicit ProgressLine(int file_descriptor = 2);
  ~ProgressLine();  // clears the line
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  [[nodiscard]] bool on_terminal() const { return on_terminal_; }
  void show(std::string_view line);
  // Removes the line, so that other output can follow.
  void clear();

 private:
  int file_descriptor_;
  bool on_terminal_;
  bool shown_ = false;
};

}  // namespace rkv
