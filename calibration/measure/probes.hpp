// The probes, one family of measurements each; what each one fills is in names.hpp. Those that need what
// this machine does not have say so in the samples and give nothing to repeat: null.
#pragma once

#include <memory>
#include <vector>

#include "backends/verbs/port/real_port.hpp"
#include "calibration/measure/probe.hpp"

namespace rkv::calibration {

// The CPU's clock, by a loop of dependent additions; reading the time.
std::unique_ptr<Probe> make_clock_probe();
// The chained store's walk by its size, an operation beside it, and writing a key's text.
std::unique_ptr<Probe> make_store_probe(const Bench& bench, Samples& samples);
// Copying within the caches.
std::unique_ptr<Probe> make_copy_probe();
std::unique_ptr<Probe> make_line_probe(const Bench& bench);
// All CPUs reading memory past their caches.
std::unique_ptr<Probe> make_bandwidth_probe(const Bench& bench, Samples& samples);
// A free lock, and one that another CPU had.
std::unique_ptr<Probe> make_lock_probe(const Bench& bench, Samples& samples);
// System calls, waking a thread of another CPU.
std::unique_ptr<Probe> make_kernel_probe(const Bench& bench, Samples& samples);
// Waking a thread of another CPU that has just become idle.
std::unique_ptr<Probe> make_halt_probe(const Bench& bench, Samples& samples);
// Waking threads of the own CPU, and of another one that is busy.
std::unique_ptr<Probe> make_wake_probe(const Bench& bench, Samples& samples);
// Switching between threads of a CPU.
std::unique_ptr<Probe> make_switch_probe(const Bench& bench);
// Making threads on a CPU.
std::unique_ptr<Probe> make_thread_probe();
// Slices and the tick, by threads that spin on one CPU; how often others run for a moment.
std::unique_ptr<Probe> make_scheduler_probe(const Bench& bench);
// Which of these weigh more, and how often they change their CPU, by all that others do while the rest is
// measured.
std::unique_ptr<Probe> make_others_probe(const Bench& bench, Samples& samples);
// What a busy hardware thread of the same core takes away.
std::unique_ptr<Probe> make_smt_probe(const Bench& bench, Samples& samples);
// Verbs calls over RC, UC and UD, and round trips. The port must outlive it.
std::unique_ptr<Probe> make_verbs_probe(const Bench& bench, verbs::RealPort& port, Samples& samples);
// Round trips whose two sides sleep meanwhile. None with one CPU. The port must outlive it.
std::unique_ptr<Probe> make_event_round_trip_probe(const Bench& bench, verbs::RealPort& port,
                                                   Samples& samples);
// Threads of one CPU that wake each other by completion events. None but for soft0, whose posts wake. The
// port must outlive it.
std::unique_ptr<Probe> make_event_pairs_probe(const Bench& bench, verbs::RealPort& port);
// System calls on TCP connections over loopback.
std::unique_ptr<Probe> make_tcp_probe(const Bench& bench, Samples& samples);
// Many threads of one CPU that wake each other over them.
std::unique_ptr<Probe> make_tcp_crowd_probe(const Bench& bench);

// Why there is nothing that needs two CPUs.
inline constexpr const char* one_cpu_only = "needs two CPUs, and this process may use one";

// All of them. The port must outlive them.
std::vector<std::unique_ptr<Probe>> make_probes(const Bench& bench, verbs::RealPort& port, Samples& samples);

}  // namespace rkv::calibration
