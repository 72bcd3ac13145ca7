// rkv-real's command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rkv::real {

enum class Role : std::uint8_t { both, server, client };

struct Options {
  Role role = Role::both;
  std::string scenario;
  std::vector<std::string> overrides;  // path=value
  std::vector<std::uint32_t> clients;
  std::string device;  // empty: the scenario's
  std::optional<std::uint32_t> device_port;
  std::optional<std::uint32_t> gid_index;
  std::string out;           // empty: a fresh directory under results/
  std::string trace_ending;  // csv or bin; empty: csv when the scenario asks for a trace

  std::string server;           // client: host[:port]
  std::uint32_t processes = 1;  // client: of this run
  bool join = false;            // client: take part in a run that another process leads

  std::string listen;  // server: host[:port]
  bool once = false;   // server: end after one run
  std::uint64_t max_memory_mib = 4096;
  std::uint32_t max_threads = 4096;
  std::uint32_t max_duration_s = 3600;
  std::vector<int> cores;

  bool quiet = false;
  std::vector<std::string> command_line;
};

// The port that a server listens on unless told otherwise.
inline constexpr std::uint16_t default_port = 18515;

// Gives the options, or the exit code when the program is to end at once (--help: 0, a mistake: 2).
struct Parsed {
  std::optional<Options> options;
  int exit_code = 0;
};
[[nodiscard]] Parsed parse_options(int argc, const char* const* argv);

}  // namespace rkv::real
