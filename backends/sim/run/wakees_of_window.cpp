#include "backends/sim/run/wakees_of_window.hpp"

#include <algorithm>

namespace rkv::sim {
namespace {

// The last time up to now at which a count begins that began then.
Ps last_begin(Ps began, Ps now, Ps period) {
  const Ps age = (now - began) % period;
  return now - (age < 0 ? age + period : age);
}

}  // namespace

WakeesOfWindow wakees_of_window(const Profile& profile, const Scenario& scenario) {
  WakeesOfWindow wakees;
  if (!profile.server.scheduler.wake_to_interrupt && !profile.client.scheduler.wake_to_interrupt) {
    return wakees;
  }
  Rng rng(scenario.seed, 0, Purpose::models);  // as Processors draw them, before anything else is drawn
  // Until the first client begins nobody is woken, and times of the run count from then.
  const Ps pause = to_ps(scenario.load.connect_pause);
  for (std::uint32_t host = 0; host < profile.network.hosts(); ++host) {
    const HostProfile& of = host == 0 ? profile.server : profile.client;
    std::vector<Ps>& began = wakees.cpus_began.emplace_back(of.cpu.cpus());
    if (!of.scheduler.wake_to_interrupt) continue;
    for (Ps& time : began) {
      time = began_some_time_before(rng) - pause;
      if (time < -Wakees::memory) time = 0;
    }
  }
  wakees.clients_begin_apart = scenario.load.start_stagger;
  wakees.period =
      to_duration(Wakees::memory + std::max(profile.server.scheduler.tick, profile.client.scheduler.tick));
  return wakees;
}

void begin_counts(const WakeesOfWindow& wakees, Simulation& simulation,
                  std::span<const std::unique_ptr<Thread>> workers,
                  std::span<const std::unique_ptr<Thread>> clients) {
  if (wakees.cpus_began.empty()) return;
  const auto began = [&](Ps then) {
    return Wakees{.flips = 0, .since = last_begin(then, wakees.now, to_ps(wakees.period))};
  };
  for (std::uint32_t host = 0; host < wakees.cpus_began.size(); ++host) {
    Processors& cpus = simulation.host(host).cpus();
    cpus.wakees_clock().set(simulation.world().now(), wakees.now, wakees.times);
    for (std::size_t cpu = 0; cpu < cpus.count(); ++cpu) {
      cpus.core(cpu).idle_wakees() = began(wakees.cpus_began[host][cpu]);
    }
  }
  for (const auto& threads : {workers, clients}) {
    for (std::size_t number = 0; number < threads.size(); ++number) {
      // While the first client is alone no interrupt wakes another's threads.
      const auto client = static_cast<Ps>(std::max<std::size_t>(number, 1));
      threads[number]->wakees = began(client * to_ps(wakees.clients_begin_apart));
    }
  }
}

}  // namespace rkv::sim
