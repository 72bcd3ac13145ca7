// Simulated hosts with TCP and threads on them, driven by the test itself: no SimGrid.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "backends/sim/net/tcp.hpp"
#include "backends/sim/port/sim_stream.hpp"
#include "backends/sim/port/sim_stream_network.hpp"

namespace rkv::sim::test {

inline constexpr Ps ns = 1'000;
inline constexpr Ps us = 1'000 * ns;
inline constexpr Ps ms = 1'000 * us;

// Round numbers; what a thread's switch or migration costs is nothing.
inline Profile stream_profile() {
  Profile profile;
  profile.server.cpu.cores_per_socket = 4;
  profile.server.scheduler.switch_cost = 0;
  profile.server.scheduler.wakeup_latency = 0;
  profile.server.scheduler.wake_cost = 500 * ns;
  profile.server.scheduler.syscall = 100 * ns;
  profile.server.scheduler.interrupt_cpu = -1;
  profile.server.scheduler.migration_cost = 0;
  profile.client = profile.server;
  profile.network.switch_latency = 0;
  profile.network.mtu_bytes = 1000;
  profile.tcp = {.send = 3000 * ns,
                 .receive = 1500 * ns,
                 .empty_receive = 300 * ns,
                 .select = 800 * ns,
                 .ns_per_byte = 0.2,
                 .soft_interrupt = 3000 * ns,
                 .latency = 2000 * ns,
                 .header_bytes = 66};
  return profile;
}

class StreamWorld {
 public:
  // A cable of 100 ns and 0.1 ns a byte for each host; with one_host the client is on the server's.
  explicit StreamWorld(const Profile& profile = stream_profile(), Network::Flow flow = {})
      : world(1),
        network(world, profile.network, {{100 * ns, 100}, {100 * ns, 100}}, std::move(flow)),
        server_host(world, "server", profile.server, 0),
        client_host(world, "client", profile.client, 1),
        tcp(world, network, profile.tcp, {&server_host, &client_host}),
        server(tcp, server_host),
        client(tcp, profile.network.one_host ? server_host : client_host) {
    thread = &make_thread(profile.network.one_host ? server_host : client_host);
  }

  // Runs on a CPU of its own. `meanwhile` is called once, when it waits for the first time.
  Thread& make_thread(Host& host, std::function<void()> meanwhile = {}) {
    Thread& made = *threads_.emplace_back(std::make_unique<Thread>(world, host, "test", std::vector<int>{}));
    made.suspend = [this, &made, meanwhile = std::move(meanwhile)]() mutable {
      if (const auto once = std::exchange(meanwhile, nullptr)) once();
      run_until_woken(made);
    };
    host.cpus().wake(made);
    world.set_current(&made);
    return made;
  }

  // The calling thread's time.
  Ps now() {
    world.current()->flush();
    return world.now();
  }
  // All that is planned happens.
  void drain() {
    now();
    while (world.advance(forever)) world.take_woken(woken_);
  }

  World world;
  Network network;
  Host server_host;
  Host client_host;
  Tcp tcp;
  SimStreamNetwork server;
  SimStreamNetwork client;
  Thread* thread = nullptr;  // of the client's host, in which the test runs

 private:
  // Throws when it never will be.
  void run_until_woken(Thread& awaited) {
    for (;;) {
      const auto found = std::find(woken_.begin(), woken_.end(), &awaited);
      if (found != woken_.end()) {
        woken_.erase(found);
        return;
      }
      if (!world.advance(forever)) throw std::runtime_error("the simulated world stands still");
      std::vector<Thread*> more;
      world.take_woken(more);
      woken_.insert(woken_.end(), more.begin(), more.end());
    }
  }

  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<Thread*> woken_;
};

// Both ends of a connection, in use by the world's thread.
struct Connected {
  Connected(StreamWorld& world, const StreamSpec& server_spec, const StreamSpec& client_spec) {
    const auto listener = world.server.listen(1);
    client = world.client.dial(listener->address(), client_spec, never);
    server = listener->accept(server_spec, never);
    world.now();
  }
  std::unique_ptr<Stream> client;
  std::unique_ptr<Stream> server;
};

// Waits for a source in the simplest way: sleeping or on the CPU, without arming and looking in between.
class Wait final : public Operation {
 public:
  enum class How { sleep, hold_cpu };
  Wait(Source& source, How how) : source_(source), how_(how) {}

  Next step(Thread& thread) override {
    if (!begun_) {
      begun_ = true;
      source_.watch(thread);
    }
    if (source_.ready()) {
      source_.forget(thread);
      return Next::done();
    }
    if (how_ == How::hold_cpu) return Next::work_until(forever);
    source_.arm();
    return Next::sleep();
  }
  void on_signal(Thread& thread) override {
    thread.settle();
    thread.retarget(thread.progress());
  }

 private:
  Source& source_;
  const How how_;
  bool begun_ = false;
};

inline Source& source_of(const std::unique_ptr<Stream>& stream) {
  return dynamic_cast<Source&>(*stream);
}

// When the stream has something, and what.
inline Ps wait_for(StreamWorld& world, const std::unique_ptr<Stream>& stream,
                   Wait::How how = Wait::How::sleep) {
  Wait wait(source_of(stream), how);
  world.world.current()->perform(wait);
  return world.world.now();
}
inline Completion take(StreamWorld& world, const std::unique_ptr<Stream>& stream) {
  Completion arrival;
  REQUIRE(source_of(stream).take(*world.world.current(), {&arrival, 1}) == 1);
  return arrival;
}

inline std::vector<std::byte> pattern(std::size_t bytes) {
  std::vector<std::byte> result(bytes);
  for (std::size_t i = 0; i < bytes; ++i) result[i] = static_cast<std::byte>(i * 7 + i / 256);
  return result;
}

inline StreamSpec spec(std::size_t receive, std::size_t transmit) {
  return {.receive_capacity = receive, .transmit_capacity = transmit};
}

}  // namespace rkv::sim::test
