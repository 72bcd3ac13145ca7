// rkv-real: the key-value service, or plain verbs, on real threads, queue pairs and sockets.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdio>
#include <exception>

#include "backends/verbs/rkv_real/roles.hpp"
#include "core/error.hpp"

namespace {

// A client that blocks has a dozen descriptors; the usual soft limit of 1024 is spent by about 80 of them.
// Where it can't be raised, what meets it says so.
void allow_many_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace rkv::real;
  constexpr int exit_failed = 1;
  constexpr int exit_bad_input = 2;
  constexpr int exit_interrupted = 130;
  const rkv::control::StopSignal* interrupt = nullptr;
  try {
    const Parsed parsed = parse_options(argc, argv);
    if (!parsed.options) return parsed.exit_code;
    allow_many_descriptors();
    interrupt = &rkv::control::interrupt_signal();
    switch (parsed.options->role) {
      case Role::server:
        return serve(*parsed.options, *interrupt);
      case Role::client:
        if (parsed.options->join) return join_run(*parsed.options, *interrupt);
        [[fallthrough]];
      case Role::both:
        return run_scenario(*parsed.options, *interrupt);
    }
  } catch (const rkv::InputError& error) {
    fmt::print(stderr, "rkv-real: {}\n", error.what());
    return exit_bad_input;
  } catch (const std::exception& error) {
    fmt::print(stderr, "rkv-real: {}\n", error.what());
    return interrupt != nullptr && interrupt->raised() ? exit_interrupted : exit_failed;
  }
  return exit_failed;
}
