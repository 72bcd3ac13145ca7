#include "backends/sim/engine/simgrid_model.hpp"

#include <algorithm>
#include <cmath>
#include <simgrid/s4u.hpp>

#include "backends/sim/cpu/thread.hpp"
#include "backends/sim/engine/platform.hpp"

namespace rkv::sim {
namespace {

constexpr double ps_in_s = 1e12;

}  // namespace

SimgridModel& SimgridModel::instance() {
  static const std::shared_ptr<SimgridModel> model = [] {
    auto made = std::make_shared<SimgridModel>();
    simgrid_engine().add_model(made);
    return made;
  }();
  return *model;
}

void SimgridModel::attach(World* world, bool single_steps) {
  world_ = world;
  single_steps_ = single_steps;
  synchronised_ = world == nullptr ? 0 : world->now();
}

double SimgridModel::next_occurring_event(double allowed) {
  if (world_ == nullptr) return -1;
  const Ps limit = allowed < 0 ? forever : synchronised_ + std::llround(allowed * ps_in_s);
  const bool planned = single_steps_ ? world_->step(limit) : world_->advance(limit);
  if (!planned && allowed < 0) {
    // What waits now waits for ever. SimGrid ends such actors by itself, but first tells what each waits for,
    // and for a suspended one 4.1 throws at that.
    simgrid::s4u::Actor::kill_all();
    return -1;
  }
  // SimGrid's clock is a double: an advance of less than its last digit would leave it where it is. It may
  // run ahead of the world's by that, which is of no importance: nobody reads it but for differences.
  const double now = simgrid::s4u::Engine::get_clock();
  const double least = std::nextafter(now, HUGE_VAL) - now;
  const double delta = static_cast<double>(world_->now() - synchronised_) / ps_in_s;
  return allowed < 0 ? std::max(delta, least) : std::min(std::max(delta, least), allowed);
}

void SimgridModel::update_actions_state(double, double) {
  if (world_ == nullptr) return;
  synchronised_ = world_->now();
  world_->take_woken(woken_);
  for (const Thread* thread : woken_) thread->resume();
}

}  // namespace rkv::sim
