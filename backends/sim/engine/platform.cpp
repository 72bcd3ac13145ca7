#include "backends/sim/engine/platform.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "backends/sim/engine/simgrid_names.hpp"
#include "core/error.hpp"

namespace rkv::sim {
namespace {

namespace sg = simgrid::s4u;

// AddressSanitizer knows the stacks of threads only. SimGrid's raw contexts and Boost's switch stacks behind
// its back, and it then takes a frame of one actor for one of another; with the thread factory an actor is a
// thread.
#ifdef RKV_ADDRESS_SANITIZER
constexpr bool address_sanitizer = true;
#else
constexpr bool address_sanitizer = false;
#endif

constexpr double s_in_ps = 1e-12;
constexpr double bits_a_byte = 8;
constexpr double bits_a_gbit = 1e9;
// More than any test of one process asks for; hosts that are not used cost nothing.
constexpr std::size_t least_hosts = 9;
constexpr double host_speed_flops = 1e9;  // of no importance: nothing is executed by SimGrid's own CPU model

std::vector<sg::Host*>& process_hosts() {
  static std::vector<sg::Host*> hosts;
  return hosts;
}

std::string cable_name(std::size_t host) {
  return fmt::format("cable-{}", host);
}

// Threads of which one runs at a time, and wakes the next: on one CPU none has an idle CPU to wake for that,
// which takes longer than most of what an actor does. Which CPU is by chance, so that processes spread.
void stay_on_one_cpu() {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;  // merely slower
  int others = ::getpid() % CPU_COUNT(&allowed);
  std::size_t cpu = 0;
  while (!CPU_ISSET(cpu, &allowed) || others-- > 0) ++cpu;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  ::sched_setaffinity(0, sizeof one, &one);
}

void build(std::size_t count) {
  sg::NetZone* zone = add_star(simgrid_engine(), "rkv");
  for (std::size_t i = 0; i < count; ++i) {
    sg::Host* host =
        add_host(*zone, i == 0 ? "server" : fmt::format("client-{}", i), host_speed_flops)->seal();
    // Full duplex: each direction has the cable to itself.
    const sg::Link* cable = add_cable(*zone, cable_name(i), bits_a_gbit)->seal();
    add_star_routes(*zone, *host, {cable, sg::LinkInRoute::Direction::UP},
                    {cable, sg::LinkInRoute::Direction::DOWN});
    process_hosts().push_back(host);
  }
  zone->seal();
}

}  // namespace

sg::Engine& simgrid_engine(const std::vector<std::string>& configuration) {
  static sg::Engine* const engine = [&] {
    // Quiet about options: they are not the user's doing.
    std::vector<std::string> arguments{"rkv-sim",
                                       "--log=xbt_cfg.thresh:warning",
                                       "--log=ker_context.thresh:warning",
                                       "--cfg=contexts/stack-size:256",
                                       "--cfg=network/model:CM02",  // the default multiplies latencies by 13
                                       "--cfg=network/crosstraffic:0"};
    arguments.push_back(fmt::format("--cfg={}:1e-12", timing_precision));
    if (address_sanitizer) {
      arguments.emplace_back("--cfg=contexts/factory:thread");
      stay_on_one_cpu();
    }
    for (const std::string& option : configuration) arguments.push_back("--cfg=" + option);
    std::vector<char*> values;
    for (std::string& argument : arguments) values.push_back(argument.data());
    auto count = static_cast<int>(values.size());
    values.push_back(nullptr);
    return new sg::Engine(&count, values.data());
  }();
  return *engine;
}

Platform::Platform(const NetworkProfile& profile) {
  simgrid_engine();
  const std::size_t wanted = profile.hosts();
  if (process_hosts().empty()) build(std::max(wanted, least_hosts));
  if (wanted > process_hosts().size()) {
    throw Error(
        fmt::format("{} hosts are simulated, and an earlier simulation of this process had {}: simulate the "
                    "largest one first, or in a process of its own",
                    wanted, process_hosts().size()));
  }
  hosts_.assign(process_hosts().begin(), process_hosts().begin() + static_cast<std::ptrdiff_t>(wanted));
  // The star has two cables on every route. Without a switch they are the halves of one; with one, what it
  // costs to pass it is with the cable behind it.
  const bool switched = profile.switch_latency > 0;
  const double cable_s = static_cast<double>(profile.link_latency) * s_in_ps / (switched ? 1 : 2);
  const double switch_s = static_cast<double>(profile.switch_latency) * s_in_ps;
  const double bytes_s = profile.link_bandwidth_gbit_s * bits_a_gbit / bits_a_byte;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    sg::Link* up = sg::Link::by_name(cable_name(i) + "_UP");
    sg::Link* down = sg::Link::by_name(cable_name(i) + "_DOWN");
    up->set_latency(cable_s);
    down->set_latency(cable_s + switch_s);
    up->set_bandwidth(bytes_s);
    down->set_bandwidth(bytes_s);
  }
  cables_.resize(hosts_.size());
  for (std::size_t i = 0; i < hosts_.size() && hosts_.size() > 1; ++i) {
    std::vector<sg::Link*> route;
    double latency_s = 0;
    hosts_[i]->route_to(hosts_[i == 0 ? 1 : 0], route, &latency_s);
    const double own_s = switched ? route.front()->get_latency() : latency_s;
    cables_[i] = {.latency = std::llround(own_s / s_in_ps),
                  .ps_per_byte = 1 / (route.front()->get_bandwidth() * s_in_ps)};
  }
}

}  // namespace rkv::sim
