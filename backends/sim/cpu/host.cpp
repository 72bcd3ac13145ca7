#include "backends/sim/cpu/host.hpp"

#include <cmath>
#include <utility>

#include "backends/sim/engine/timeline.hpp"

namespace rkv::sim {
namespace {

// The profile's CPU costs, as this host's clock makes them.
HostProfile at_own_clock(HostProfile profile) {
  const CpuProfile& cpu = profile.cpu;
  if (cpu.costs_measured_at_ghz <= 0 || cpu.costs_measured_at_ghz == cpu.clock_ghz) return profile;
  const double factor = cpu.costs_measured_at_ghz / cpu.clock_ghz;
  const auto scale = [&](auto&... costs) {
    ((costs = std::llround(static_cast<double>(costs) * factor)), ...);
  };
  SchedulerProfile& os = profile.scheduler;
  scale(os.switch_cost, os.wake_cost, os.wake_elsewhere, os.wake_beside, os.wake_idle, os.reschedule,
        os.reschedule_interrupt, os.wake_other_socket, os.syscall, os.fall_asleep, os.timed_sleep,
        os.timed_sleep_among, os.interrupt);
  scale(profile.memory.format_key, profile.memory.store_operation, profile.memory.lock);
  ProgramProfile& program = profile.program;
  scale(program.client_operation, program.client_response, program.client_serial, program.server_operation,
        program.clock_read);
  for (VerbsProfile* verbs : {&profile.rc, &profile.uc, &profile.ud}) {
    scale(verbs->post_send, verbs->post_chained, verbs->post_receive, verbs->receive_chained, verbs->poll,
          verbs->empty_poll, verbs->arm, verbs->event);
  }
  return profile;
}

}  // namespace

Host::Host(World& world, std::string name, const HostProfile& profile, std::uint32_t number)
    : name_(std::move(name)),
      number_(number),
      costs_(at_own_clock(profile)),
      cpus_(world, costs_.cpu, costs_.scheduler, number),
      memory_(world, costs_.memory, costs_.cpu.sockets),
      numa_balancing_(world, cpus_, memory_, costs_.cpu.sockets > 1 ? costs_.scheduler.numa_balancing : 0) {
  cpus_.set_memory(memory_);
  if (Timeline* timeline = world.timeline()) {
    timeline->name_host(number, name_);
    for (std::size_t cpu = 0; cpu < cpus_.count(); ++cpu) {
      timeline->name_row(number, static_cast<std::uint32_t>(cpu), "CPU " + std::to_string(cpu));
    }
  }
}

const VerbsProfile& Host::verbs(Transport transport) const {
  switch (transport) {
    case Transport::rc:
      return costs_.rc;
    case Transport::ud:
      return costs_.ud;
    default:
      return costs_.uc;
  }
}

}  // namespace rkv::sim
