#include "backends/sim/cpu/load_balance.hpp"

#include <algorithm>
#include <cmath>

namespace rkv::sim {
namespace {

constexpr double imbalance = 1.17;        // sched_domain::imbalance_pct without SMT
constexpr double rounding = 1.0 / 1024;   // Linux counts in units of 1/1024 thread
constexpr unsigned cache_nice_tries = 1;  // sd_init()

}  // namespace

Occupancy occupancy(const CpuLoad& cpu) {
  const double runnable = cpu.average.runnable();
  const double used = cpu.average.utilization() * imbalance;
  if (cpu.queued > 1 && (used > 1 || runnable > imbalance)) return Occupancy::overloaded;
  if (cpu.queued == 0 || (runnable <= imbalance && used < 1)) return Occupancy::spare;
  return Occupancy::full;
}

bool is_idler(const CpuLoad& one, const CpuLoad& other) {
  const Occupancy own = occupancy(one);
  const Occupancy others = occupancy(other);
  if (own != others) return own < others;
  if (own != Occupancy::spare) return one.average.load() < other.average.load();
  if ((one.queued == 0) != (other.queued == 0)) return one.queued == 0;
  return one.average.utilization() < other.average.utilization();
}

bool begins_elsewhere(const CpuLoad& makers, const CpuLoad& idlest) {
  const Occupancy own = occupancy(makers);
  const Occupancy others = occupancy(idlest);
  if (own != others) return others < own;
  if (own == Occupancy::spare) return makers.queued > 0 && idlest.queued == 0;
  return makers.average.load() > imbalance * idlest.average.load();
}

double load_to_take(const CpuLoad& here, const CpuLoad& busiest, double mean) {
  const Occupancy own = occupancy(here);
  if (own == Occupancy::spare || occupancy(busiest) != Occupancy::overloaded) return 0;
  const double load = here.average.load();
  const double most = busiest.average.load();
  if (load >= most || load >= mean) return 0;
  if (own == Occupancy::overloaded && most <= imbalance * load) return 0;
  return std::min(most - mean, mean - load);
}

bool is_taken(double load, double to_take, unsigned looks_in_vain, bool is_hot) {
  if (is_hot && looks_in_vain <= cache_nice_tries) return false;
  return std::ldexp(load, -static_cast<int>(looks_in_vain)) <= to_take + rounding;
}

bool looks_for_idle(std::size_t cpus, double used) {
  return static_cast<double>(cpus) * (1 - std::pow(imbalance * used, 2)) >= 1;
}

}  // namespace rkv::sim
