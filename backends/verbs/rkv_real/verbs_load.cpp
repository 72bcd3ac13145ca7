#include "backends/verbs/rkv_real/verbs_load.hpp"

#include <fmt/format.h>
#include <poll.h>

#include "backends/verbs/port/clock.hpp"
#include "core/error.hpp"
#include "core/verbs_load/verbs_load_point.hpp"

namespace rkv::real {
namespace {

constexpr int progress_interval_ms = 100;

bool raised_within_interval(const control::StopSignal& interrupt) {
  pollfd raised{.fd = interrupt.fd(), .events = POLLIN, .revents = 0};
  ::poll(&raised, 1, progress_interval_ms);
  return interrupt.raised();
}

}  // namespace

void check_in_one_process(const std::vector<Scenario>& scenarios, const Options& options) {
  if (options.role == Role::both) return;
  for (const Scenario& scenario : scenarios) {
    if (scenario.workload != Workload::verbs) continue;
    throw InputError(fmt::format(
        "{}: /workload: given \"verbs\" with --role client; allowed: one process, which is both sides: "
        "run it without --role, --server and --processes",
        options.scenario));
  }
}

PointResult run_verbs_load_point(const Port& port, const Scenario& scenario, std::uint32_t clients,
                                 const control::StopSignal& interrupt,
                                 const control::RunClient::OnProgress& on_progress) {
  VerbsLoadPoint point(port, port, scenario, clients);
  control::PointProgress progress{.clients = clients, .operations = 0, .started = control::Clock::now()};
  const Instant epoch = verbs::unix_epoch();
  point.start(port.runtime->now());
  bool interrupted = false;
  while (!interrupted && !point.finished()) {
    interrupted = raised_within_interval(interrupt);
    progress.operations = point.operations_done();
    on_progress(progress);
  }
  if (interrupted) point.stop();
  PointResult result = point.collect(epoch);
  if (interrupted) result.partial_reason = "interrupted";
  return result;
}

}  // namespace rkv::real
