// What it takes to wake a thread of the own CPU and switch to it, by how many take turns there: pairs of
// threads that wake each other, all on one CPU, by eventfds, by completion events over UC, by all that a run
// over UC does but the service, and by messages over TCP. What grows with their number is what a thread finds
// gone from the caches when it comes back, and the run queue. And of eventfds between two CPUs, where few
// pairs keep neither CPU busy.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "backends/verbs/port/real_port.hpp"
#include "calibration/measure/event.hpp"
#include "calibration/measure/pairs.hpp"
#include "calibration/measure/tcp_link.hpp"
#include "calibration/measure/verbs_link.hpp"
#include "core/error.hpp"

using namespace rkv;
using namespace rkv::calibration;

namespace {

constexpr std::array counts{1U, 2U, 4U, 8U, 16U, 32U, 64U};

using Make = std::function<std::pair<PairedSide, PairedSide>(unsigned)>;

// CPU time, of one CPU or both.
double wake_ns(unsigned pairs, int here, int there, int maker, const Make& make) {
  const int cpus = here == there ? 1 : 2;
  const PairsOf what{.pairs = pairs, .here_cpus = {here}, .there_cpus = {there}, .maker_cpus = {maker}};
  return cpus * run_pairs(what, make).wake_ns;
}

void measure(int cpu, int other_cpu, unsigned turns) {
  verbs::RealPortOptions options;
  options.device.name = "soft0";
  verbs::RealPort port(options);
  const std::unique_ptr<StopFlag> stop = port.port().runtime->make_stop_flag();
  std::vector<std::unique_ptr<VerbsLink>> links;
  for (unsigned i = 0; i < counts.back(); ++i)
    links.push_back(std::make_unique<VerbsLink>(port.port(), Transport::uc, true, *stop));
  const std::vector<TcpLink> connections(counts.back());
  const std::vector<Event> to_here(counts.back());
  const std::vector<Event> to_there(counts.back());

  const auto by_eventfds = [&](unsigned i) {
    return std::pair(PairedSide{[&, i] { to_there[i].write(); }, [&, i] { to_here[i].read(); }},
                     PairedSide{[&, i] { to_here[i].write(); }, [&, i] { to_there[i].read(); }});
  };
  const auto over_uc = [&](PairedSide (*side)(VerbsEnd&)) {
    return [&, side](unsigned i) { return std::pair(side(links[i]->here), side(links[i]->there)); };
  };
  const auto by_messages = [&](unsigned i) {
    return std::pair(paired_by_messages(connections[i].here()), paired_by_messages(connections[i].there()));
  };
  struct Row {
    const char* name;
    int there;
    Make make;
    std::array<double, counts.size()> times{};
  };
  std::array rows{Row{"eventfd", cpu, by_eventfds}, Row{"UC, events", cpu, over_uc(paired_with_receives)},
                  Row{"as in a run", cpu, over_uc(paired_as_in_run)}, Row{"TCP", cpu, by_messages},
                  Row{"two CPUs", other_cpu, by_eventfds}};
  for (unsigned turn = 0; turn < turns; ++turn) {
    for (Row& row : rows) {
      for (std::size_t i = 0; i < counts.size(); ++i)
        row.times[i] += wake_ns(counts[i], cpu, row.there, other_cpu, row.make) / turns;
    }
  }
  fmt::print("{:12}", "pairs");
  for (const unsigned count : counts) fmt::print("{:8}", count);
  for (const Row& row : rows) {
    fmt::print("\n{:12}", row.name);
    for (const double time_ns : row.times) fmt::print("{:8.0f}", time_ns);
  }
  fmt::print("\nnanoseconds of CPU time a wake-up, on CPU {}, by eventfds with {}; means of {} turns\n", cpu,
             other_cpu, turns);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "What waking a thread of the own CPU, or of another, and switching to it takes, by the number of pairs "
      "that do it");
  int cpu = 0;
  int other_cpu = 1;
  unsigned turns = 5;
  app.add_option("--cpu", cpu, "the CPU")->capture_default_str()->check(CLI::NonNegativeNumber);
  app.add_option("--other-cpu", other_cpu,
                 "where the other side of each pair between two CPUs is, and who makes all threads")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--turns", turns, "of all, one after the other; their means are shown")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);

  try {
    measure(cpu, other_cpu, turns);
  } catch (const Error& error) {
    fmt::print(stderr, "rkv_bench_pairs: {}\n", error.what());
    return 2;
  }
}
