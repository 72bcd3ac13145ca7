// rkv-sim's command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rkv::sim {

struct Options {
  std::string scenario;
  std::vector<std::string> overrides;  // of the scenario: path=value
  std::vector<std::uint32_t> clients;
  std::string profile;
  std::vector<std::string> profile_overrides;
  std::vector<std::string> without;  // mechanisms that are switched off
  std::string out;                   // empty: a fresh directory under results/
  bool timeline = false;
  std::uint32_t jobs = 0;  // points at a time; 0: one a CPU
  bool single_steps = false;
  // Points are estimated from windows of so many operations; 0: they are simulated whole.
  std::uint64_t sample_operations = 0;
  std::vector<std::string> simgrid;  // SimGrid's own options
  bool quiet = false;
  std::vector<std::string> command_line;
};

// Gives the options, or the exit code when the program is to end at once (--help: 0, a mistake: 2).
struct ParsedOptions {
  std::optional<Options> options;
  int exit_code = 0;
};
[[nodiscard]] ParsedOptions parse_options(int argc, const char* const* argv);

}  // namespace rkv::sim
