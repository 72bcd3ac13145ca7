#include "backends/sim/engine/simulation.hpp"

#include <simgrid/Exception.hpp>
#include <utility>

#include "backends/sim/engine/simgrid_model.hpp"
#include "backends/sim/engine/simgrid_names.hpp"
#include "core/error.hpp"

namespace rkv::sim {
namespace {

namespace sg = simgrid::s4u;

// The end of a thread: it leaves its CPU for good, and those who wait for it go on.
class End final : public Operation {
 public:
  Next step(Thread&) override { return Next::end(); }
  void on_signal(Thread&) override {}
};

}  // namespace

Simulation::Simulation(const Profile& profile, const SimulationOptions& options)
    : profile_(profile),
      options_(options),
      world_(options.seed),
      platform_(profile_.network),
      network_(world_, profile_.network, platform_.cables(),
               [this](std::uint32_t from, std::uint32_t to, std::uint64_t bytes, EventHandler& handler,
                      std::uint64_t tag) { start_flow(from, to, bytes, handler, tag); }) {
  world_.set_timeline(options_.timeline);
  for (std::uint32_t number = 0; number < platform_.host_count(); ++number) {
    hosts_.push_back(std::make_unique<Host>(world_,
                                            number == 0 ? "server" : "client " + std::to_string(number),
                                            number == 0 ? profile_.server : profile_.client, number));
  }
}

Simulation::~Simulation() = default;

void Simulation::start_actor(Thread& thread, std::function<void()> body) {
  thread.suspend = [] { sg::this_actor::suspend(); };  // the new actor may run before add_actor() returns
  const sg::ActorPtr actor =
      add_actor(thread.name(), *platform_.host(thread.host().number()), [&thread, body = std::move(body)] {
        thread.suspend();  // until it has a CPU
        thread.world().set_current(&thread);
        thread.started_at = thread.world().now();
        try {
          body();
        } catch (const simgrid::ForcefulKillException&) {
          throw;  // SimGrid ends its actors by this
        } catch (...) {
          thread.failure = std::current_exception();
        }
        End end;
        thread.perform(end);
      });
  thread.resume = [actor] { actor->resume(); };
  thread.begin_life();
}

Thread& Simulation::spawn(Host& host, std::string name, std::vector<int> cpus, std::function<void()> body) {
  Thread& thread =
      *threads_.emplace_back(std::make_unique<Thread>(world_, host, std::move(name), std::move(cpus)));
  start_actor(thread, std::move(body));
  return thread;
}

void Simulation::run(const std::function<void()>& body, Setter setter) {
  SimgridModel& model = SimgridModel::instance();
  model.attach(&world_, options_.single_steps);
  Host& host = *hosts_.back();
  Thread& control =
      *threads_.emplace_back(std::make_unique<Thread>(world_, host, "control", std::vector<int>{}));
  if (setter == Setter::apart) {
    control.set_apart(host.cpus().make_core_apart());
  } else {
    control.sets_up = true;
  }
  start_actor(control, body);
  simgrid_engine().run();
  model.attach(nullptr, false);
  if (control.state() != Thread::State::ended) {
    throw Error("the simulation stands still: threads wait for what never comes");
  }
  if (control.failure) std::rethrow_exception(std::exchange(control.failure, nullptr));
}

void Simulation::start_flow(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, EventHandler& handler,
                            std::uint64_t tag) {
  const Ps started = world_.now();
  add_actor("flow", *platform_.host(from), [this, from, to, bytes, &handler, tag, started] {
    sg::Comm::sendto(platform_.host(from), platform_.host(to), bytes);
    world_.spent().add(Spent::wire, world_.now() - started);
    world_.at(world_.now(), handler, tag);
  });
  world_.hand_over();  // the transfer starts now
}

}  // namespace rkv::sim
