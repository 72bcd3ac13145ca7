#include "calibration/measure/reasons.hpp"

#include <array>

namespace rkv::calibration {
namespace {

constexpr std::string_view fit = "does not show in a single call: fit it to runs";

constexpr std::array common{
    Reason{"hosts.cpu", "not all CPUs of the machine are this process's to see"},
    Reason{"hosts.scheduler.latency_ns", "CFS's, which shows in slices only together with slice_ns"},
    Reason{"hosts.scheduler.wakeup_granularity_ns",
           "CFS's; shows when woken threads compete: fit it to runs"},
    Reason{"hosts.scheduler.wake_other_socket_ns", "needs threads on several sockets"},
    Reason{"hosts.scheduler.interrupt_ns", "no card interrupts here during the measurement"},
    Reason{"hosts.scheduler.interrupt_cpu", "the administrator's choice, not a cost"},
    Reason{"hosts.scheduler.wake_to_interrupt", "the kernel's rule, by its version"},
    Reason{"hosts.scheduler.wake_affine", "the kernel's rule, by its version"},
    Reason{"hosts.scheduler.grouped", "the kernel's rule, by its version"},
    Reason{"hosts.scheduler.packs_cpus", "the kernel's command line does not ask for it"},
    Reason{"hosts.scheduler.idle_pull_after_ns", "the kernel's rule, by its version"},
    Reason{"hosts.scheduler.idle_cores_only", "the kernel's rule, by its version"},
    Reason{"hosts.scheduler.migration_cost_ns", fit},
    Reason{"hosts.scheduler.balance_interval_ns", fit},
    Reason{"hosts.scheduler.stray_exchanges", fit},
    Reason{"hosts.scheduler.active_balance_ns", fit},
    Reason{"hosts.scheduler.numa_balancing_ns", "the kernel's setting, with effect on several sockets only"},
    Reason{"hosts.memory.walk_clock_share", fit},
    Reason{"hosts.memory.bytes_an_entry", "follows from how the store lays an entry out"},
    Reason{"hosts.memory.banks", "Linux does not tell how its memory is built"},
    Reason{"hosts.memory.bank_cycle_ns", "takes more reads at once than a few CPUs make"},
    Reason{"hosts.memory.remote_socket_factor", "needs threads and memory on several sockets"},
    Reason{"hosts.memory.slot_look_ns", fit},
    Reason{"hosts.memory.slot_hit_ns", fit},
    Reason{"hosts.memory.spin_waiter_ns", "shows when more threads want a lock than one: fit it to runs"},
    Reason{"hosts.rc.lock_hand_over_ns", fit},
    Reason{"hosts.uc.lock_hand_over_ns", fit},
    Reason{"hosts.ud.lock_hand_over_ns", fit},
    Reason{"hosts.program", "the program's work around an operation: fit it to runs"},
    Reason{"tcp.latency_ns", "loopback passes no card"},
    Reason{"tcp.header_bytes", "follows from the protocol"},
    Reason{"tcp.elsewhere_ns", "needs two CPUs"},
};

constexpr std::array with_soft{
    Reason{"hosts.scheduler.switch_footprint_bytes", "Linux does not tell the first-level cache's size"},
    Reason{"nic.qp_cache", "soft0 has no card whose cache could miss"},
    Reason{"nic.request_cache", "soft0 has no card whose cache could miss"},
    Reason{"nic.translation_cache", "soft0 has no card whose cache could miss"},
    Reason{"nic.rnr_delay_ns", "a timer that soft0 sets itself"},
    Reason{"nic.retransmit_delay_ns", "a timer that soft0 sets itself"},
    Reason{"nic", "soft0 has no card"},
    Reason{"network", "soft0 has no network"},
};

constexpr std::array with_card{
    Reason{"hosts.memory.lines_at_once", "threads that a card wakes do not keep a CPU busy: fit it to runs"},
    Reason{"hosts.scheduler.switch_footprint_bytes", "means little without hosts.memory.lines_at_once"},
    Reason{"nic.qp_cache", "needs more queue pairs than it holds, and a second host: fit it to runs"},
    Reason{"nic.request_cache", "needs more requests than it holds, and a second host: fit it to runs"},
    Reason{"nic.translation_cache", "needs more pages than it holds, and a second host: fit it to runs"},
    Reason{"nic", "inside the card, or not to be told from it by one host: fit it to runs"},
    Reason{"network", "needs a second host"},
};

constexpr std::array everything_else{Reason{"", "not measured"}};

template <std::size_t A, std::size_t B, std::size_t C>
constexpr std::array<Reason, A + B + C> joined(const std::array<Reason, A>& a, const std::array<Reason, B>& b,
                                               const std::array<Reason, C>& c) {
  std::array<Reason, A + B + C> all{};
  std::size_t at = 0;
  for (const Reason& reason : a) all[at++] = reason;
  for (const Reason& reason : b) all[at++] = reason;
  for (const Reason& reason : c) all[at++] = reason;
  return all;
}

constexpr auto of_soft = joined(common, with_soft, everything_else);
constexpr auto of_card = joined(common, with_card, everything_else);

}  // namespace

std::span<const Reason> reasons_to_leave(bool soft) {
  if (soft) return of_soft;
  return of_card;
}

bool belongs(std::string_view field, std::string_view part) {
  return part.empty() || field == part ||
         (field.starts_with(part) && (field[part.size()] == '.' || field[part.size()] == '['));
}

}  // namespace rkv::calibration
