// A point simulated in a process of its own: SimGrid has one engine a process, and points of a sweep do not
// depend on each other.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "backends/sim/run/simulate_point.hpp"

namespace rkv::sim {

// Everything a point's process needs.
struct PointJob {
  const Profile* profile = nullptr;
  const Scenario* scenario = nullptr;
  std::uint32_t clients = 0;
  bool single_steps = false;
  std::uint64_t sample_operations = 0;  // a window; 0: the whole point is simulated
  std::string timeline_file;            // empty: none
  std::string trace_file;               // of the operations; empty: none
  std::vector<std::string> simgrid;     // options of SimGrid's own
};

struct PointProgress {
  double simulated_s = 0;
  std::uint64_t operations = 0;
};

// Not thread-safe. Destroying it ends the process.
class PointProcess {
 public:
  // Starts it. The process must have one thread, and SimGrid must not have been started in it.
  explicit PointProcess(const PointJob& job);
  ~PointProcess();
  PointProcess(PointProcess&& other) noexcept;
  PointProcess& operator=(PointProcess&&) = delete;

  // Readable when there is something to read().
  [[nodiscard]] int fd() const { return fd_; }
  // Takes what the process has written.
  void read();
  // Set once the point is done: its result, partial when the process failed.
  [[nodiscard]] const std::optional<PointResult>& result() const { return result_; }
  [[nodiscard]] const PointProgress& progress() const { return progress_; }
  // Asks it to end the point early. Its result still comes.
  void stop();

 private:
  void take_line(const std::string& line);
  void end();

  pid_t pid_ = -1;
  int fd_ = -1;
  std::uint32_t clients_ = 0;
  std::string unread_;
  PointProgress progress_;
  std::optional<PointResult> result_;
};

}  // namespace rkv::sim
