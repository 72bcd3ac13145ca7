// A simulated point's two sides, server and clients of core/run, connected directly.
//
// Made, used and destroyed by the thread that Simulation::run() runs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/sim/port/sim_ports.hpp"
#include "backends/sim/run/placement.hpp"
#include "backends/sim/run/simulate_point.hpp"
#include "backends/sim/run/wakees_of_window.hpp"
#include "core/run/client_point.hpp"
#include "core/run/server_point.hpp"

namespace rkv::sim {

// Of a simulated store: as much as it wants.
inline constexpr std::uint64_t store_bytes = std::uint64_t{1} << 40;

// Mean nanoseconds an operation, by where they went.
[[nodiscard]] std::map<std::string, double> time_spent(const SpentTimes& spent, std::uint64_t operations);

// What the threads of one side did between two moments.
struct SideActivity {
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;
  Ps cpu_time = 0;
};

// When a window of time is measured, and which of the clients are active in it.
struct WindowSchedule {
  Instant placed;         // threads are where the window begins with them
  WakeesOfWindow wakees;  // from then on
  Instant moves_begin;    // from then on, until moves_end, they move `hurry` times as often
  Instant moves_end;
  double hurry = 1;
  Instant warm_up_end;
  Instant measured_end;
  std::vector<ClientSchedule> clients;
};

struct SidesInWindow {
  PointResult measured;  // clients and latency; counts of the server's are of the whole time
  SideActivity server, client;
  SpentTimes spent;
  Placement placement;  // at the end of what is measured
};

class Sides {
 public:
  Sides(Simulation& simulation, SimPorts& ports, const Scenario& scenario, std::uint32_t clients,
        std::unique_ptr<Store> store);

  // The scenario from its beginning to its end.
  SimulatedPoint run();
  // `before`: where threads are taken at the beginning. `make` is given the time at which the clients are
  // started.
  SidesInWindow run_window(const Placement& before, const std::function<WindowSchedule(Instant start)>& make);

  [[nodiscard]] std::uint64_t operations_done() const;
  void stop();

 private:
  // In a thread of its own where the point's threads are, as a program that runs both sides does.
  void start_server();
  // Waits for the clients to end, and wakes up now and then as a program does that shows how far it is.
  void look_on();

  Simulation& simulation_;
  SimPorts& ports_;
  const bool tcp_;
  ServerPoint server_;
  std::vector<std::unique_ptr<ClientPoint>> clients_;
};

}  // namespace rkv::sim
