// One simulation: a world with its hosts and network, and the SimGrid actors that run in it.
//
// Simulations of one process follow each other, one at a time, since SimGrid has one engine a process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/sim/cpu/host.hpp"
#include "backends/sim/cpu/thread.hpp"
#include "backends/sim/engine/platform.hpp"
#include "backends/sim/engine/world.hpp"
#include "backends/sim/net/network.hpp"
#include "backends/sim/profile/profile.hpp"

namespace rkv::sim {

struct SimulationOptions {
  std::uint64_t seed = 1;
  Timeline* timeline = nullptr;  // outlives the simulation
  // Hands every single event to SimGrid as a step of its own, instead of running ahead to the next that wakes
  // a thread. Slow; gives the same results.
  bool single_steps = false;
};

class Simulation {
 public:
  explicit Simulation(const Profile& profile, const SimulationOptions& options = {});
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // Where the thread is that sets a point up.
  enum class Setter : std::uint8_t {
    apart,    // of no study, on a CPU of its own
    on_host,  // of the last host, where it needs a CPU like any other
  };
  // Runs `body` as that thread and returns when it and every thread that it spawned have ended. Rethrows what
  // the body threw. Throws rkv::Error when threads wait for what never comes.
  void run(const std::function<void()>& body, Setter setter = Setter::apart);

  // A thread on this host, which begins as soon as it has a CPU. Called by a simulated thread.
  Thread& spawn(Host& host, std::string name, std::vector<int> cpus, std::function<void()> body);

  // All threads so far, in the order of their making, those that have ended too.
  [[nodiscard]] std::span<const std::unique_ptr<Thread>> threads() const { return threads_; }
  [[nodiscard]] World& world() { return world_; }
  [[nodiscard]] const Profile& profile() const { return profile_; }
  [[nodiscard]] Network& network() { return network_; }
  [[nodiscard]] std::uint32_t host_count() const { return platform_.host_count(); }
  // 0 is the server's; clients' hosts follow, or there is none but it.
  [[nodiscard]] Host& host(std::uint32_t number) { return *hosts_[number]; }

 private:
  void start_actor(Thread& thread, std::function<void()> body);
  void start_flow(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, EventHandler& handler,
                  std::uint64_t tag);

  const Profile profile_;
  const SimulationOptions options_;
  World world_;
  Platform platform_;
  std::vector<std::unique_ptr<Host>> hosts_;
  Network network_;
  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace rkv::sim
