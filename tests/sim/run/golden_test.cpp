// One operation of one client, alone in the world, worked out by hand from the profile, to the picosecond.
#include <catch2/catch.hpp>

#include "backends/sim/run/sides.hpp"
#include "core/run/server_store.hpp"
#include "tests/sim/run/golden_profile.hpp"

namespace rkv::sim::test {
namespace {

// Its threads are made by one that needs no CPU of theirs.
std::vector<TraceRecord> records_of(const Profile& profile, const Scenario& scenario) {
  Simulation simulation(profile);
  SimPorts ports(simulation, scenario.transport);
  SimulatedPoint point;
  simulation.run([&] {
    Sides sides(simulation, ports, scenario, 1,
                make_modelled_server_store(ports.port(0), scenario, 1, store_bytes));
    point = sides.run();
  });
  REQUIRE(point.result.partial_reason.empty());
  REQUIRE(point.result.operations.of(Method::get, ResponseCode::ok) == scenario.load.total_operations);
  const auto records = point.traces.at(0).records();
  return {records.begin(), records.end()};
}

Ps latency(const Profile& profile, const Scenario& scenario) {
  const TraceRecord record = records_of(profile, scenario).at(0);
  return to_ps(record.received - record.sent);
}

const VerbsProfile& verbs_of(const HostProfile& host, Transport transport) {
  return transport == Transport::rc ? host.rc : transport == Transport::uc ? host.uc : host.ud;
}

// Times below count from `sent`, the client's time stamp.
//
// A spinning thread looks every `scan` from `begin` on; something is visible `at`. When it begins to take it.
Ps next_look(Ps begin, Ps scan, Ps at) {
  return at <= begin ? begin : begin + (at - begin + scan - 1) / scan * scan;
}

// The client, before its stamp: drawing the operation, the key into the request.
Ps preparing(const HostProfile& client) {
  return client.program.client_operation + key_bytes * memory_byte;
}

// The worker is started first; the clients' start is then read from the clock, and the client started.
Ps worker_runs_since(const HostProfile& server, const HostProfile& client) {
  return -preparing(client) - client.scheduler.switch_cost - client.scheduler.wakeup_latency -
         client.program.clock_read + server.scheduler.wakeup_latency + server.scheduler.switch_cost;
}

// From the stamp to the call that sends.
Ps sending(const HostProfile& client) {
  return client.program.clock_read;
}

// What the worker does between taking a request and the call that answers it.
Ps serving(const HostProfile& server) {
  return server.program.server_operation                //
         + server.memory.store_operation                //
         + entries_walked * server.memory.walk[0].cost  //
         + value_bytes * memory_byte;                   // the value, into the response
}

Ps card_to_card(const Profile& profile, Transport transport, Ps message_bytes, bool inlined = false) {
  const NicProfile& nic = profile.nic;
  const NicTransportProfile& card = transport == Transport::rc   ? nic.rc
                                    : transport == Transport::uc ? nic.uc
                                                                 : nic.ud;
  Ps time = nic.doorbell + nic.pcie_latency;  // the write arrives
  if (!nic.doorbell_carries_request || !inlined)
    time += 2 * nic.pcie_latency + 64 * pcie_byte;                         // the request by DMA
  time += card.send;                                                       // a unit
  if (!inlined) time += 2 * nic.pcie_latency + message_bytes * pcie_byte;  // the payload by DMA
  time += (message_bytes + card.header_bytes) * link_byte;                 // onto the cable
  time += profile.network.link_latency;                                    // along it
  if (profile.network.switch_latency > 0)
    time += profile.network.switch_latency + profile.network.link_latency;  // cut-through
  time += card.receive;                                                     // a unit
  time += nic.receive_fetch + nic.receive_fetch_an_sge;                     // one entry
  time += (message_bytes + 64) * pcie_byte + nic.pcie_latency;              // with its completion
  return time;
}

// A completion that a sleeping thread waits for, from its being visible to its being taken.
Ps event_taken(const Profile& profile, const HostProfile& host, const VerbsProfile& verbs) {
  return profile.nic.interrupt_delay                            // moderation
         + host.scheduler.interrupt + host.scheduler.wake_cost  //
         + host.scheduler.wakeup_latency                        // no switch: nobody ran meanwhile
         + verbs.event + verbs.arm                              //
         + verbs.poll;
}

struct Sizes {
  Ps request = request_message;
  Ps response = response_message;
  bool request_inlined = false;
};

Ps by_event(const Profile& profile, Transport transport, const Sizes& sizes = {}) {
  const VerbsProfile& server = verbs_of(profile.server, transport);
  const VerbsProfile& client = verbs_of(profile.client, transport);
  return sending(profile.client) + client.post_send                                //
         + card_to_card(profile, transport, sizes.request, sizes.request_inlined)  //
         + event_taken(profile, profile.server, server) + server.post_receive      //
         + serving(profile.server) + server.post_send                              //
         + card_to_card(profile, transport, sizes.response)                        //
         + event_taken(profile, profile.client, client) + client.post_receive      //
         + profile.client.program.client_response;
}

Ps by_polling(const Profile& profile, Transport transport) {
  const VerbsProfile& server = verbs_of(profile.server, transport);
  const VerbsProfile& client = verbs_of(profile.client, transport);
  const Ps posted = sending(profile.client) + client.post_send;
  const Ps request_visible = posted + card_to_card(profile, transport, request_message);
  const Ps request_taken =
      next_look(worker_runs_since(profile.server, profile.client), server.empty_poll, request_visible) +
      server.poll;
  const Ps answered = request_taken + server.post_receive + serving(profile.server) + server.post_send;
  const Ps response_visible = answered + card_to_card(profile, transport, response_message);
  const Ps response_taken =
      next_look(posted + profile.nic.doorbell, client.empty_poll, response_visible) + client.poll;
  return response_taken + client.post_receive + profile.client.program.client_response;
}

TEST_CASE("an operation by polling takes the sum of its steps", "[golden]") {
  const auto transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  CAPTURE(static_cast<int>(transport));
  const Profile profile = golden_profile();
  Scenario scenario = golden_scenario(transport, CompletionMode::busy);
  CHECK(latency(profile, scenario) == by_polling(profile, transport));
  SECTION("strategies whose budget is not spent poll") {
    scenario.completion.mode = CompletionMode::adaptive;
    scenario.completion.empty_polls = 1'000'000;
    CHECK(latency(profile, scenario) == by_polling(profile, transport));
    scenario.completion.mode = CompletionMode::hybrid;
    scenario.completion.spin = std::chrono::seconds(1);
    CHECK(latency(profile, scenario) == by_polling(profile, transport));
    scenario.completion.mode = CompletionMode::shared;
    scenario.completion.shared_wait = CompletionMode::busy;
    CHECK(latency(profile, scenario) == by_polling(profile, transport));
  }
}

TEST_CASE("an operation by events takes the sum of its steps", "[golden]") {
  const auto transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  CAPTURE(static_cast<int>(transport));
  Profile profile = golden_profile();
  Scenario scenario = golden_scenario(transport, CompletionMode::event);
  SECTION("alone") {}
  SECTION("in a batch") {
    scenario.completion.mode = CompletionMode::event_batch;
  }
  SECTION("after polling for nothing, by scans") {
    scenario.completion.mode = CompletionMode::adaptive;
    scenario.completion.empty_polls = 1;
  }
  SECTION("after polling for nothing, by time") {
    scenario.completion.mode = CompletionMode::hybrid;
    scenario.completion.spin = std::chrono::nanoseconds(1);
  }
  SECTION("on a shared queue") {
    scenario.completion.mode = CompletionMode::shared;
  }
  SECTION("through a switch") {
    profile.network.switch_latency = 439 * ns;
  }
  SECTION("work requests fetched by the card") {
    profile.nic.doorbell_carries_request = false;
  }
  CHECK(latency(profile, scenario) == by_event(profile, transport));
}

TEST_CASE("falling asleep takes CPU time while the message is on its way", "[golden]") {
  const auto transport = GENERATE(Transport::uc, Transport::tcp);
  Profile profile = golden_profile();
  Scenario scenario = golden_scenario(transport, CompletionMode::event);
  const Ps free_latency = latency(profile, scenario);
  const auto client_time = [&] { return simulate_point(profile, scenario, 1, {}).result.client.cpu_time; };
  const auto free_time = client_time();
  profile.client.scheduler.fall_asleep = 300 * ns;
  CHECK(latency(profile, scenario) == free_latency);
  CHECK(client_time() - free_time == to_duration(300 * ns));
}

TEST_CASE("who sleeps until a deadline sets a timer before, and takes it back when woken", "[golden]") {
  const auto transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  const Ps timer = transport == Transport::rc ? 0 : 500 * ns;  // RC's client has no deadline
  Profile profile = golden_profile();
  const Scenario scenario = golden_scenario(transport, CompletionMode::event);
  const Ps free_latency = latency(profile, scenario);
  const auto client_time = [&] { return simulate_point(profile, scenario, 1, {}).result.client.cpu_time; };
  const auto free_time = client_time();
  profile.client.scheduler.timed_sleep = 500 * ns;
  profile.client.scheduler.timed_sleep_among = 7'000 * ns;  // there is no other thread
  CHECK(latency(profile, scenario) == free_latency + timer / 2);
  CHECK(client_time() - free_time == to_duration(timer));
}

TEST_CASE("a timer costs more while another one is set on its CPU", "[golden]") {
  Profile profile = golden_profile();
  // Both clients sleep until long after both have sent.
  profile.server.program.server_operation = 1'000'000 * ns;
  Scenario scenario = golden_scenario(Transport::uc, CompletionMode::event);
  scenario.load.total_operations = 2;
  const auto one_cpu = GENERATE(true, false);
  scenario.client.cores = one_cpu ? std::vector<int>{0} : std::vector<int>{0, 1};
  scenario.client.bind_each = true;
  const auto client_time = [&] { return simulate_point(profile, scenario, 2, {}).result.client.cpu_time; };
  const auto free_time = client_time();
  profile.client.scheduler.timed_sleep = 500 * ns;
  profile.client.scheduler.timed_sleep_among = 100 * ns;
  CHECK(client_time() - free_time == to_duration((2 * 500 + (one_cpu ? 100 : 0)) * ns));
}

TEST_CASE("an inlined request is not read by the card", "[golden]") {
  const auto transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  const Profile profile = golden_profile();
  Scenario scenario = golden_scenario(transport, CompletionMode::event);
  scenario.queue_pair.inline_bytes = request_message;
  CHECK(latency(profile, scenario) == by_event(profile, transport, {.request_inlined = true}));
}

TEST_CASE("fixed messages are cleared and sent whole", "[golden]") {
  const Profile profile = golden_profile();
  Scenario scenario = golden_scenario(Transport::uc, CompletionMode::event);
  scenario.message.format = MessageOptions::Format::fixed;
  constexpr Ps whole_request = 32 + 64 + 256;
  constexpr Ps whole_response = 16 + 256;
  CHECK(latency(profile, scenario) ==
        by_event(profile, Transport::uc, {.request = whole_request, .response = whole_response}) +
            whole_response * memory_byte);
}

TEST_CASE("operations that follow each other take the same, with the client's own work between", "[golden]") {
  const auto transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  const Profile profile = golden_profile();
  Scenario scenario = golden_scenario(transport, CompletionMode::event);
  scenario.load.total_operations = 3;
  const auto records = records_of(profile, scenario);
  for (std::size_t i = 0; i < records.size(); ++i) {
    // The chain's oldest entry comes first, then one and two nearer to its front.
    CHECK(to_ps(records[i].received - records[i].sent) ==
          by_event(profile, transport) - static_cast<Ps>(i) * profile.server.memory.walk[0].cost);
    if (i > 0) {
      CHECK(to_ps(records[i].sent - records[i - 1].received) ==
            profile.client.program.clock_read + preparing(profile.client));
    }
  }
}

TEST_CASE("a send completion that is awaited comes before the response does, so it costs nothing",
          "[golden]") {
  const auto transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  const Profile profile = golden_profile();
  Scenario scenario = golden_scenario(transport, CompletionMode::event);
  scenario.queue_pair.await_send_completion = true;
  CHECK(latency(profile, scenario) == by_event(profile, transport));
}

TEST_CASE("a response that is there is taken at once, or when its event comes if events are awaited",
          "[golden]") {
  const auto transport = GENERATE(Transport::rc, Transport::uc);
  Profile profile = golden_profile();
  profile.nic.interrupt_delay = 1'000'000 * ns;            // the send's event comes after the response
  profile.server.program.server_operation = 100'000 * ns;  // and long before the response's
  for (VerbsProfile* verbs : {&profile.server.rc, &profile.server.uc}) verbs->empty_poll = ns;
  Scenario scenario = golden_scenario(transport, CompletionMode::busy);
  scenario.client_completion = CompletionPolicy{.mode = CompletionMode::event};
  scenario.queue_pair.await_send_completion = true;
  scenario.load.total_operations = 2;
  const VerbsProfile& server = verbs_of(profile.server, transport);
  const VerbsProfile& client = verbs_of(profile.client, transport);
  const Ps response_visible = sending(profile.client) + client.post_send                     //
                              + card_to_card(profile, transport, request_message)            //
                              + server.poll + server.post_receive + serving(profile.server)  //
                              - profile.server.memory.walk[0].cost  // the second key is one nearer
                              + server.post_send + card_to_card(profile, transport, response_message);
  const Ps rest = client.post_receive + profile.client.program.client_response;
  SECTION("at once: as soon as the send's event is handled") {
    const TraceRecord second = records_of(profile, scenario).at(1);
    CHECK(to_ps(second.received - second.sent) < response_visible + profile.nic.interrupt_delay);
  }
  SECTION("with its own event") {
    scenario.client_completion->await_event = true;
    const TraceRecord second = records_of(profile, scenario).at(1);
    CHECK(to_ps(second.received - second.sent) ==
          response_visible + event_taken(profile, profile.client, client) + rest);
  }
}

// --- the soft device, on one host

Ps soft_move(const Profile& profile, Ps message_bytes) {
  return profile.nic.soft_transfer + message_bytes * soft_byte;
}

TEST_CASE("soft device: an operation takes the sum of its steps", "[golden]") {
  const auto transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  const Profile profile = golden_one_host();
  const HostProfile& host = profile.server;  // of both
  const VerbsProfile& verbs = verbs_of(host, transport);
  const Ps posted = sending(host) + verbs.post_send;
  SECTION("by polling") {
    const Ps request_visible = posted + soft_move(profile, request_message);
    const Ps request_taken =
        next_look(worker_runs_since(host, host), verbs.empty_poll, request_visible) + verbs.poll;
    const Ps answered = request_taken + verbs.post_receive + serving(host) + verbs.post_send;
    const Ps response_visible = answered + soft_move(profile, response_message);
    // The client has moved its request itself, and spins since.
    const Ps response_taken = next_look(request_visible, verbs.empty_poll, response_visible) + verbs.poll;
    CHECK(latency(profile, golden_scenario(transport, CompletionMode::busy)) ==
          response_taken + verbs.post_receive + host.program.client_response);
  }
  SECTION("by events") {
    const Ps event_taken = profile.nic.soft_wake            // the sender writes the event
                           + host.scheduler.wakeup_latency  //
                           + verbs.event + verbs.arm + verbs.poll;
    CHECK(latency(profile, golden_scenario(transport, CompletionMode::event)) ==
          posted + soft_move(profile, request_message) + event_taken  //
              + verbs.post_receive + serving(host) + verbs.post_send  //
              + soft_move(profile, response_message) + event_taken    //
              + verbs.post_receive + host.program.client_response);
  }
}

TEST_CASE("soft device: between CPUs both sides pay, and who polls sees it later", "[golden]") {
  const auto transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  Profile profile = golden_one_host();
  profile.nic.soft_elsewhere = 443 * ns;
  profile.nic.soft_visible = 449 * ns;
  profile.server.scheduler.wake_idle = 457 * ns;  // while the other one wakes up
  const HostProfile& host = profile.server;       // of both
  const VerbsProfile& verbs = verbs_of(host, transport);
  const Ps elsewhere = profile.nic.soft_elsewhere;
  const Ps posted = sending(host) + verbs.post_send;
  SECTION("by polling") {
    const Ps request_moved = posted + soft_move(profile, request_message) + elsewhere;
    const Ps request_taken =
        next_look(worker_runs_since(host, host), verbs.empty_poll, request_moved + profile.nic.soft_visible) +
        verbs.poll + elsewhere;
    const Ps answered = request_taken + verbs.post_receive + serving(host) + verbs.post_send;
    const Ps response_visible =
        answered + soft_move(profile, response_message) + elsewhere + profile.nic.soft_visible;
    const Ps response_taken =
        next_look(request_moved, verbs.empty_poll, response_visible) + verbs.poll + elsewhere;
    CHECK(latency(profile, golden_scenario(transport, CompletionMode::busy)) ==
          response_taken + verbs.post_receive + host.program.client_response);
  }
  SECTION("by events") {
    const Ps event_taken = elsewhere + profile.nic.soft_wake + host.scheduler.wakeup_latency  //
                           + verbs.event + verbs.arm + verbs.poll + elsewhere;
    CHECK(latency(profile, golden_scenario(transport, CompletionMode::event)) ==
          posted + soft_move(profile, request_message) + event_taken  //
              + verbs.post_receive + serving(host) + verbs.post_send  //
              + soft_move(profile, response_message) + event_taken    //
              + verbs.post_receive + host.program.client_response);
  }
}

TEST_CASE("soft device: what is copied out of a message comes from its writer's CPU", "[golden]") {
  Profile profile = golden_one_host();
  Scenario scenario = golden_scenario(Transport::ud, CompletionMode::event);
  scenario.server.ud_receive_lock = true;
  const Ps near = latency(profile, scenario);
  profile.nic.soft_read_ns_per_byte = 0.5;
  SECTION("of another one") {
    CHECK(latency(profile, scenario) == near + request_message * ns / 2);
  }
  SECTION("of the reader's own") {
    const std::vector<int> one_cpu{0};
    scenario.server.cores = scenario.client.cores = one_cpu;
    const Ps here = latency(profile, scenario);
    profile.nic.soft_read_ns_per_byte = 0;
    CHECK(latency(profile, scenario) == here);
  }
  SECTION("only what is read") {
    scenario.server.ud_receive_lock = false;
    const Ps unread = latency(profile, scenario);
    profile.nic.soft_read_ns_per_byte = 0;
    CHECK(latency(profile, scenario) == unread);
  }
}

TEST_CASE("TCP on one host: another CPU sees a segment before its sender has done", "[golden]") {
  Profile profile = golden_one_host();
  const Scenario scenario = golden_scenario(Transport::tcp, CompletionMode::event);
  const Ps within = latency(profile, scenario);
  profile.tcp.early = 461 * ns;
  CHECK(latency(profile, scenario) == within - 2 * profile.tcp.early);
  profile.tcp.early = 1000 * profile.tcp.soft_interrupt;  // with the receive processing, not before it
  CHECK(latency(profile, scenario) ==
        within - 2 * (profile.tcp.soft_interrupt + profile.server.scheduler.wake_cost));
}

TEST_CASE("TCP on one host: segments for another CPU take longer to process", "[golden]") {
  Profile profile = golden_one_host();
  const Scenario scenario = golden_scenario(Transport::tcp, CompletionMode::event);
  const Ps within = latency(profile, scenario);
  profile.tcp.elsewhere = 461 * ns;
  CHECK(latency(profile, scenario) == within + 2 * profile.tcp.elsewhere);
  profile.tcp.early = profile.tcp.elsewhere;
  CHECK(latency(profile, scenario) == within);
}

TEST_CASE("TCP: a thread that comes on on an idle CPU does more", "[golden]") {
  Profile profile = golden_one_host();
  const Scenario scenario = golden_scenario(Transport::tcp, CompletionMode::event);
  const Ps within = latency(profile, scenario);
  profile.tcp.after_idle = 467 * ns;
  // The client. The worker has sent nothing yet.
  CHECK(latency(profile, scenario) == within + profile.tcp.after_idle);
}

// --- TCP

Ps tcp_send(const Profile& profile, const HostProfile& host, Ps message_bytes) {
  return host.scheduler.syscall + profile.tcp.send + message_bytes * tcp_byte;
}
Ps tcp_receive(const Profile& profile, const HostProfile& host, Ps message_bytes) {
  return host.scheduler.syscall + profile.tcp.receive + message_bytes * tcp_byte;
}
// From the send to the soft interrupt.
Ps tcp_way(const Profile& profile, Ps message_bytes) {
  const NetworkProfile& network = profile.network;
  return (message_bytes + profile.tcp.header_bytes) * link_byte + network.link_latency +
         (network.switch_latency > 0 ? network.switch_latency + network.link_latency : 0) +
         profile.tcp.latency;
}
// A thread that spins since `begin` is stopped by the soft interrupt that brings it something at `at`.
Ps next_tcp_look(const Profile& profile, const HostProfile& host, Ps begin, Ps at) {
  const Ps stolen = profile.tcp.soft_interrupt;
  return next_look(begin, host.scheduler.syscall + profile.tcp.empty_receive, at - stolen) + stolen;
}

TEST_CASE("TCP: an operation takes the sum of its steps", "[golden]") {
  Profile profile = golden_profile();
  const HostProfile& server = profile.server;
  const HostProfile& client = profile.client;
  const Ps sent = sending(client) + tcp_send(profile, client, request_message);
  SECTION("by polling") {
    const Ps request_visible = sent + tcp_way(profile, request_message) + profile.tcp.soft_interrupt;
    const Ps request_taken =
        next_tcp_look(profile, server, worker_runs_since(server, client), request_visible) +
        tcp_receive(profile, server, request_message);
    const Ps answered = request_taken + serving(server) + tcp_send(profile, server, response_message);
    const Ps response_visible = answered + tcp_way(profile, response_message) + profile.tcp.soft_interrupt;
    const Ps response_taken = next_tcp_look(profile, client, sent, response_visible) +
                              tcp_receive(profile, client, response_message);
    CHECK(latency(profile, golden_scenario(Transport::tcp, CompletionMode::busy)) ==
          response_taken + client.program.client_response);
  }
  SECTION("blocking") {
    Scenario scenario = golden_scenario(Transport::tcp, CompletionMode::event);
    SECTION("in recv") {}
    SECTION("in select, which it sleeps in before the request comes") {
      scenario.socket.server_wait = SocketOptions::Wait::select;
    }
    SECTION("in batches") {
      scenario.completion.mode = CompletionMode::event_batch;
    }
    SECTION("through a switch") {
      profile.network.switch_latency = 439 * ns;
    }
    const auto woken = [&](const HostProfile& host) {
      return profile.tcp.soft_interrupt + host.scheduler.wake_cost + host.scheduler.wakeup_latency;
    };
    CHECK(latency(profile, scenario) ==
          sent + tcp_way(profile, request_message)                              //
              + woken(server) + tcp_receive(profile, server, request_message)   //
              + serving(server) + tcp_send(profile, server, response_message)   //
              + tcp_way(profile, response_message)                              //
              + woken(client) + tcp_receive(profile, client, response_message)  //
              + client.program.client_response);
  }
}

TEST_CASE("TCP on one CPU: it has left the caches when a thread comes on behind another", "[golden]") {
  Profile profile = golden_one_host();
  profile.server.cpu.cores_per_socket = 1;
  const Scenario scenario = golden_scenario(Transport::tcp, CompletionMode::event);
  const Ps warm = latency(profile, scenario);
  profile.tcp.after_switch = 700 * ns;
  // The client behind the worker. That one has sent nothing yet.
  CHECK(latency(profile, scenario) == warm + 700 * ns);
}

TEST_CASE("on one CPU threads find their lines gone, which costs them when they have found their message",
          "[golden]") {
  Profile profile = golden_one_host();
  profile.server.cpu.cores_per_socket = 1;
  profile.server.memory.lines = {{512, 1 * ns}, {1'024, 2 * ns}, {2'048, 5 * ns}};
  const Transport transport = GENERATE(Transport::uc, Transport::tcp);
  const Scenario scenario = golden_scenario(transport, CompletionMode::event);
  const Ps kept = latency(profile, scenario);
  profile.server.scheduler.switch_footprint_bytes = 1'024;
  // The worker and the client, 16 lines each.
  CHECK(latency(profile, scenario) == kept + 2 * 16 * 3 * ns);
  profile.tcp.switch_footprint_bytes = 512;
  // The client has eight, 1 ns more each, over TCP. Which the worker has not used yet.
  CHECK(latency(profile, scenario) == kept + 16 * 3 * ns + (transport == Transport::tcp ? 8 : 16 * 3) * ns);
}

TEST_CASE("TCP on one host: the sender does the receiver's soft interrupt", "[golden]") {
  const Profile profile = golden_one_host();
  const HostProfile& host = profile.server;
  const Ps called = sending(host) + tcp_send(profile, host, request_message);
  SECTION("by polling") {
    const Ps scan = host.scheduler.syscall + profile.tcp.empty_receive;
    const Ps request_visible = called + profile.tcp.soft_interrupt;
    const Ps request_taken = next_look(worker_runs_since(host, host), scan, request_visible) +
                             tcp_receive(profile, host, request_message);
    const Ps response_visible = request_taken + serving(host) + tcp_send(profile, host, response_message) +
                                profile.tcp.soft_interrupt;
    const Ps response_taken =
        next_look(request_visible, scan, response_visible) + tcp_receive(profile, host, response_message);
    CHECK(latency(profile, golden_scenario(Transport::tcp, CompletionMode::busy)) ==
          response_taken + host.program.client_response);
  }
  SECTION("blocking") {
    const Ps woken = profile.tcp.soft_interrupt + host.scheduler.wake_cost + host.scheduler.wakeup_latency;
    CHECK(latency(profile, golden_scenario(Transport::tcp, CompletionMode::event)) ==
          called + woken + tcp_receive(profile, host, request_message) + serving(host) +
              tcp_send(profile, host, response_message) + woken +
              tcp_receive(profile, host, response_message) + host.program.client_response);
  }
}

}  // namespace
}  // namespace rkv::sim::test
