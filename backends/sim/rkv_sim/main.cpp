// rkv-sim: the key-value service on simulated machines.
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "backends/sim/rkv_sim/options.hpp"
#include "backends/sim/rkv_sim/sweep.hpp"
#include "core/error.hpp"

int main(int argc, char** argv) {
  constexpr int exit_failed = 1;
  constexpr int exit_bad_input = 2;
  try {
    const rkv::sim::ParsedOptions parsed = rkv::sim::parse_options(argc, argv);
    if (!parsed.options) return parsed.exit_code;
    return rkv::sim::run_sweep(*parsed.options);
  } catch (const rkv::InputError& error) {
    fmt::print(stderr, "rkv-sim: {}\n", error.what());
    return exit_bad_input;
  } catch (const std::exception& error) {
    fmt::print(stderr, "rkv-sim: {}\n", error.what());
    return exit_failed;
  }
}
