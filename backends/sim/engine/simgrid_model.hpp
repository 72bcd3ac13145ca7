// The world as a SimGrid resource model. SimGrid asks it for the next date at which something happens to an
// actor; it runs ahead to there by itself, and lets the woken actors go on.
#pragma once

#include <memory>
#include <simgrid/kernel/resource/Model.hpp>
#include <vector>

#include "backends/sim/engine/world.hpp"

namespace rkv::sim {

class SimgridModel final : public simgrid::kernel::resource::Model {
 public:
  // The process's one, registered with its engine.
  static SimgridModel& instance();
  SimgridModel() : Model("rkv") {}

  // The world that is run from now on; null: none.
  void attach(World* world, bool single_steps);

  bool next_occurring_event_is_idempotent() override { return false; }
  // `allowed`: seconds until something else is due in SimGrid, less than 0 for never.
  double next_occurring_event(double allowed) override;
  void update_actions_state(double now, double delta) override;

 private:
  World* world_ = nullptr;
  bool single_steps_ = false;
  Ps synchronised_ = 0;  // the world's time at SimGrid's present date
  std::vector<Thread*> woken_;
};

}  // namespace rkv::sim
