#include "backends/sim/port/sim_runtime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "backends/sim/port/sim_mutex.hpp"
#include "backends/sim/port/sim_stop_flag.hpp"
#include "core/error.hpp"

namespace rkv::sim {
namespace {

class Join final : public Operation {
 public:
  explicit Join(Thread& other) : other_(other) {}
  Next step(Thread& thread) override {
    if (other_.state() == Thread::State::ended) return Next::done();
    other_.joiners.push_back(&thread);
    return Next::sleep();
  }
  void on_signal(Thread& thread) override { thread.wake_up(); }

 private:
  Thread& other_;
};

class Sleep final : public Operation {
 public:
  Sleep(Ps deadline, SimStopFlag& stop) : deadline_(deadline), stop_(stop) {}
  Next step(Thread& thread) override {
    const bool over = stop_.requested() || thread.world().now() >= deadline_;
    if (!begun_) {
      begun_ = true;
      if (over) return Next::done();
      stop_.watch(thread);
      thread.set_timer(deadline_);
      thread.world().spent().add(Spent::kernel, thread.host().costs().scheduler.syscall);
      return Next::work_until(thread.progress() + thread.host().costs().scheduler.syscall);
    }
    if (!over) return Next::sleep();
    stop_.forget(thread);
    thread.set_timer(forever);
    return Next::done();
  }
  void on_signal(Thread& thread) override { thread.wake_up(); }

 private:
  const Ps deadline_;
  SimStopFlag& stop_;
  bool begun_ = false;
};

// What waits for a thread to begin, as StdThread does (backends/verbs/port/thread_runtime.cpp).
class Beginning final : public Operation, public EventHandler {
 public:
  Next step(Thread& maker) override {
    if (begun_) return Next::done();
    maker_ = &maker;
    return Next::sleep();
  }
  void on_signal(Thread& maker) override { maker.wake_up(); }
  // Played by the new thread.
  void on_event(std::uint64_t) override {
    begun_ = true;
    if (maker_ != nullptr) maker_->signal();
  }

 private:
  Thread* maker_ = nullptr;
  bool begun_ = false;
};

class JoinedThread final : public rkv::Thread {
 public:
  JoinedThread(Simulation& simulation, sim::Thread& thread) : simulation_(simulation), thread_(thread) {}
  ~JoinedThread() override { wait(); }
  void join() override {
    wait();
    if (thread_.failure) std::rethrow_exception(std::exchange(thread_.failure, nullptr));
  }

 private:
  void wait() {
    if (thread_.state() == sim::Thread::State::ended) return;
    Join join(thread_);
    simulation_.world().current()->perform(join);
  }

  Simulation& simulation_;
  sim::Thread& thread_;
};

// The tag of a TryLock's release is its address, which is even, and in the last bit whether it is shared.
constexpr std::uint64_t shared_bit = 1;

}  // namespace

std::unique_ptr<rkv::Thread> SimRuntime::spawn(ThreadSpec spec, std::function<void()> body) {
  for (const int cpu : spec.cores) {
    if (cpu < 0 || static_cast<std::size_t>(cpu) >= host_.cpus().count()) {
      throw Error(fmt::format("thread {}: there is no CPU {} on the simulated host {}, which has {}",
                              spec.name, cpu, host_.name(), host_.cpus().count()));
    }
  }
  const bool apart = current().apart();
  const SchedulerProfile& costs = host_.costs().scheduler;
  if (!apart) current().spend(costs.make_thread, Spent::program);
  current().flush();  // it begins behind what its maker did before
  const auto make = [&](std::function<void()> code) {
    return std::make_unique<JoinedThread>(
        simulation_, simulation_.spawn(host_, std::move(spec.name), std::move(spec.cores), std::move(code)));
  };
  if (apart) return make(std::move(body));
  Beginning beginning;
  auto made = make([this, &beginning, &costs, body = std::move(body)] {
    current().spend(costs.begin_thread, Spent::program);
    current().record(beginning, 0);
    body();
  });
  current().spend(costs.syscall, Spent::kernel);  // to sleep
  current().perform(beginning);
  return made;
}

std::unique_ptr<StopFlag> SimRuntime::make_stop_flag() {
  return std::make_unique<SimStopFlag>();
}

std::unique_ptr<Mutex> SimRuntime::make_mutex() {
  return std::make_unique<SimMutex>(simulation_.world());
}

Instant SimRuntime::now() {
  current().spend(host_.costs().program.clock_read, Spent::program);
  current().flush();
  return to_instant(simulation_.world().now());
}

void SimRuntime::stamp(Instant& slot) {
  current().stamp(slot);
  current().spend(host_.costs().program.clock_read, Spent::program);
}

void SimRuntime::sleep_until(Instant deadline, const StopFlag& stop) {
  Sleep sleep(to_ps(deadline), sim_stop_flag(stop));
  current().perform(sleep);
}

void SimRuntime::charge(const Work& work) {
  sim::Thread& thread = current();
  host_.memory().charge(thread, work);
  const ProgramProfile& program = host_.costs().program;
  thread.spend(work.requests_made * program.client_operation + work.responses_read * program.client_response +
                   work.requests_served * program.server_operation,
               Spent::program);
  thread.spend(std::llround(static_cast<double>(work.message_bytes_read) * thread.message_byte),
               Spent::program);
}

ThreadUsage SimRuntime::usage() {
  sim::Thread& thread = current();
  thread.flush();
  return {.voluntary_switches = thread.voluntary_switches,
          .involuntary_switches = thread.involuntary_switches,
          .cpu_time = to_duration(thread.cpu_time),
          .wall_time = to_duration(simulation_.world().now() - thread.started_at)};
}

bool SimRuntime::try_lock(TryLock& lock) {
  current().flush();
  if (lock.state.load(std::memory_order_relaxed) != 0) return false;
  lock.state.store(-1, std::memory_order_relaxed);
  return true;
}

bool SimRuntime::try_lock_shared(TryLock& lock) {
  current().flush();
  if (lock.state.load(std::memory_order_relaxed) < 0) return false;
  lock.state.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void SimRuntime::unlock(TryLock& lock) {
  current().record(*this, reinterpret_cast<std::uint64_t>(&lock));
}

void SimRuntime::unlock_shared(TryLock& lock) {
  current().record(*this, reinterpret_cast<std::uint64_t>(&lock) | shared_bit);
}

void SimRuntime::on_event(std::uint64_t tag) {
  auto& lock = *reinterpret_cast<TryLock*>(tag & ~shared_bit);
  if ((tag & shared_bit) != 0) {
    lock.state.fetch_sub(1, std::memory_order_relaxed);
  } else {
    lock.state.store(0, std::memory_order_relaxed);
  }
}

}  // namespace rkv::sim
