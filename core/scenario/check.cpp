#include "core/scenario/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "core/document/name.hpp"
#include "core/document/schema.hpp"
#include "core/message/sizes.hpp"
#include "core/scenario/names.hpp"
#include "core/scenario/server_queues.hpp"
#include "core/workload/key_text.hpp"

namespace rkv {
namespace {

std::uint32_t most_clients(const Scenario& scenario) {
  return *std::max_element(scenario.clients.begin(), scenario.clients.end());
}

void check_load(const Scenario& scenario, Problems& problems) {
  const Load& load = scenario.load;
  const bool by_count = load.total_operations > 0;
  const bool by_time = load.duration.count() > 0;
  if (!by_count && !by_time) {
    problems.add("/load", "says neither how much nor how long; give one of total_operations and duration_s");
  } else if (by_count && by_time) {
    problems.add("/load/duration_s",
                 fmt::format("given together with total_operations {}; allowed: one of them (--set "
                             "/load/duration_s=null or --set /load/total_operations=null)",
                             load.total_operations));
  } else if (by_count && load.total_operations < most_clients(scenario)) {
    problems.add("/load/total_operations",
                 fmt::format("given {} for {} clients; allowed: one operation a client at least",
                             load.total_operations, most_clients(scenario)));
  }
  if (load.warm_up_operations > 0 && load.warm_up.count() > 0) {
    problems.add("/load/warm_up_s",
                 fmt::format("given together with warm_up_operations {}; allowed: one of them",
                             load.warm_up_operations));
  }
  if (load.turns.overlap > load.turns.length) {
    problems.add("/load/turns/overlap_us", "more than a turn's length_us; allowed: a turn's length at most");
  }
  if (load.arrivals.kind != Arrivals::Kind::closed && !(load.arrivals.rate_ops_s > 0)) {
    problems.add("/load/arrivals/rate_ops_s",
                 "not above 0; an open loop needs the rate of all clients together, in operations a second");
  }
}

void check_operations(const Scenario& scenario, Problems& problems) {
  const OperationMix& mix = scenario.operations;
  if (scenario.keys.distribution == KeyOptions::Distribution::thesis) {
    return;
  }
  if (!(mix.get + mix.set + mix.del + mix.ping + mix.read_modify_write > 0)) {
    problems.add("/operations", "all weights are 0; allowed: one above 0 at least");
  }
  if (mix.read_modify_write > 0 && scenario.load.window != 1) {
    problems.add(
        "/operations/read_modify_write",
        fmt::format("given with a window of {}; allowed: a window of 1, since with more the SET would not "
                    "wait for the GET's response",
                    scenario.load.window));
  }
  if (mix.read_modify_write > 0 && scenario.keys.distribution == KeyOptions::Distribution::latest) {
    problems.add("/operations/read_modify_write",
                 "given with key distribution latest, where every SET makes a new key; allowed: another "
                 "distribution");
  }
}

// False when the sizes make no sense, so that nothing should be derived from them.
bool check_sizes(const std::string& at, const SizeDistribution& sizes, Problems& problems) {
  using enum SizeDistribution::Kind;
  const std::size_t before = problems.all().size();
  if (sizes.kind != fixed && sizes.kind != discrete && sizes.min_bytes > sizes.max_bytes) {
    problems.add(at + "/min_bytes",
                 fmt::format("given {}, more than max_bytes {}", sizes.min_bytes, sizes.max_bytes));
  }
  if ((sizes.kind == generalised_pareto || sizes.kind == generalised_extreme_value) && !(sizes.scale > 0)) {
    problems.add(at + "/scale", fmt::format("given {}; allowed: above 0 for this kind", sizes.scale));
  }
  if (sizes.discrete_bytes.size() != sizes.discrete_weights.size()) {
    problems.add(at + "/discrete_weights",
                 fmt::format("{} weights for {} sizes; allowed: one for each of discrete_bytes",
                             sizes.discrete_weights.size(), sizes.discrete_bytes.size()));
  }
  const double sum = std::accumulate(sizes.discrete_weights.begin(), sizes.discrete_weights.end(), 0.0);
  if (sizes.kind == discrete && !(sum > 0)) {
    problems.add(at + "/discrete_weights", "no weight above 0; allowed: one at least");
  }
  if (sizes.kind == generalised_pareto && sum > 1) {
    problems.add(
        at + "/discrete_weights",
        fmt::format("probabilities add up to {}; allowed: 1 at most, the rest is the distribution's", sum));
  }
  return problems.all().size() == before;
}

void check_keys(const Scenario& scenario, Problems& problems) {
  using Distribution = KeyOptions::Distribution;
  const KeyOptions& keys = scenario.keys;
  const bool own_keys =
      keys.distribution == Distribution::thesis || keys.distribution == Distribution::latest;
  if (own_keys && keys.scope != KeyOptions::Scope::per_client) {
    problems.add(
        "/keys/scope",
        "given \"shared\" (the default); allowed: \"per_client\" for the distributions thesis and latest, "
        "whose keys grow with each client's own operations");
  }
  if (keys.distribution == Distribution::thesis || !check_sizes("/key_size", scenario.key_size, problems)) {
    return;
  }
  std::uint64_t most_keys = keys.count;
  if (keys.scope == KeyOptions::Scope::per_client) {
    most_keys *= most_clients(scenario);
  }
  if (keys.distribution == Distribution::latest) {
    most_keys = std::numeric_limits<std::uint64_t>::max();  // grows with the operations
  }
  const std::uint32_t needed = key_text_bytes(most_keys - 1);
  if (scenario.key_size.smallest_bytes() < needed) {
    const char* const field = scenario.key_size.kind == SizeDistribution::Kind::fixed ? "/key_size/bytes"
                              : scenario.key_size.kind == SizeDistribution::Kind::discrete
                                  ? "/key_size/discrete_bytes"
                                  : "/key_size/min_bytes";
    problems.add(field,
                 fmt::format("keys as short as {} bytes can't all differ; allowed: {} bytes or more for so "
                             "many keys (the characters of a key hold 5 bits each)",
                             scenario.key_size.smallest_bytes(), needed));
  }
}

void check_capacities(const Scenario& scenario, Problems& problems) {
  if (!problems.empty()) {
    return;  // the sizes may not make sense
  }
  const MessageOptions& message = scenario.message;
  if (const std::uint32_t bytes = largest_key_bytes(scenario); bytes > message.key_capacity_bytes) {
    problems.add("/message/key_capacity_bytes",
                 fmt::format("given {}; allowed: {} or more, the largest key's bytes",
                             message.key_capacity_bytes, bytes));
  }
  if (const std::uint32_t bytes = largest_value_bytes(scenario); bytes > message.value_capacity_bytes) {
    problems.add("/message/value_capacity_bytes",
                 fmt::format("given {}; allowed: {} or more, the largest value's bytes",
                             message.value_capacity_bytes, bytes));
  }
}

void check_completion(const Scenario& scenario, Problems& problems) {
  const bool shared = scenario.completion.mode == CompletionMode::shared;
  if (shared && scenario.workload == Workload::verbs) {
    problems.add("/completion/mode",
                 "given \"shared\" with workload verbs, which has no server's workers to share a "
                 "completion queue; allowed: busy, event, event_batch, adaptive, hybrid");
    return;
  }
  if (shared && scenario.transport == Transport::tcp) {
    problems.add("/completion/mode",
                 "given \"shared\" with tcp, which has no completion queue to share; allowed: "
                 "busy, event, event_batch, adaptive, hybrid");
  }
  if (shared && !scenario.client_completion) {
    problems.add("/client_completion",
                 "missing; the server's mode shared is not one for clients: give the clients' own");
  }
  const std::uint32_t fewest = *std::min_element(scenario.clients.begin(), scenario.clients.end());
  if (scenario.completion.await_event && scenario.server.workers > fewest) {
    problems.add("/server/workers",
                 fmt::format("given {} for {} clients with /completion/await_event, where no two workers may "
                             "wait for one completion queue; allowed: {} at most, or 0 for one a client",
                             scenario.server.workers, fewest, fewest));
  }
  if (scenario.transport == Transport::tcp && scenario.completion.mode == CompletionMode::busy &&
      scenario.socket.server_wait == SocketOptions::Wait::select) {
    problems.add("/socket/server_wait",
                 "given \"select\" with completion mode busy, which never blocks; allowed: "
                 "\"read\", or a completion mode that blocks");
  }
}

template <typename Side>
void check_binding(const char* pointer, const Side& side, Problems& problems) {
  if (!side.bind_each || !side.cores.empty()) return;
  problems.add(pointer, "given true without cores to bind to; allowed: false, or name them");
}

void check_doorbell_batch(const Scenario& scenario, Problems& problems) {
  const QueuePairOptions& queue_pair = scenario.queue_pair;
  if (queue_pair.doorbell_batch > scenario.load.window) {
    problems.add("/queue_pair/doorbell_batch",
                 fmt::format("given {} for a window of {}; allowed: the window at most",
                             queue_pair.doorbell_batch, scenario.load.window));
  } else if (queue_pair.doorbell_batch > 1 && queue_pair.await_send_completion) {
    problems.add(
        "/queue_pair/doorbell_batch",
        fmt::format("given {} with await_send_completion, where each send is awaited before the next "
                    "is posted; allowed: 1, or await_send_completion false",
                    queue_pair.doorbell_batch));
  }
}

void check_verbs_load(const Scenario& scenario, Problems& problems) {
  const VerbsOptions& options = scenario.verbs;
  if (scenario.transport == Transport::tcp || scenario.transport == Transport::ud) {
    problems.add("/transport", fmt::format("given \"{}\" with workload verbs; allowed: \"rc\", \"uc\"",
                                           name_of(scenario.transport)));
    return;
  }
  if (options.fetches() && scenario.transport == Transport::uc) {
    problems.add("/verbs/operation",
                 fmt::format("given \"{}\" over uc, which has neither RDMA READ nor atomic operations; "
                             "allowed: \"send\", \"write\"",
                             name_of(options.operation)));
  }
  if (options.atomic() && options.bytes != atomic_bytes) {
    problems.add("/verbs/bytes",
                 fmt::format("given {} for an atomic operation; allowed: {}", options.bytes, atomic_bytes));
  }
  check_doorbell_batch(scenario, problems);
  if (options.sends() && scenario.queue_pair.receive_batch > scenario.queue_pair.receive_depth) {
    problems.add("/queue_pair/receive_batch",
                 fmt::format("given {} of {} receives; allowed: as many as receive_depth at most",
                             scenario.queue_pair.receive_batch, scenario.queue_pair.receive_depth));
  }
  if (options.operation == VerbsOptions::Operation::read && options.watch &&
      scenario.queue_pair.signal_interval > 1 && client_policy(scenario).mode != CompletionMode::busy) {
    problems.add(
        "/verbs/watch",
        "given true (the default) with a completion mode that blocks, and a look at memory wakes nobody; "
        "allowed: false, or completion mode busy, or signal_interval 1");
  }
  if (options.clients_a_queue_pair > 1 &&
      (client_policy(scenario).mode != CompletionMode::busy || scenario.queue_pair.signal_interval > 1)) {
    problems.add(
        "/verbs/clients_a_queue_pair",
        fmt::format("given {} with completions that are blocked for or not signalled each; allowed: 1, "
                    "or completion mode busy with signal_interval 1",
                    options.clients_a_queue_pair));
  }
  if (!std::has_single_bit(options.alignment_bytes) ||
      (options.atomic() && options.alignment_bytes < atomic_bytes)) {
    problems.add("/verbs/alignment_bytes",
                 fmt::format("given {}; allowed: powers of two, from {} on for atomic operations",
                             options.alignment_bytes, atomic_bytes));
  }
  if (!options.sends() && options.memory_bytes < options.bytes) {
    problems.add("/verbs/memory_bytes",
                 fmt::format("given {}; allowed: {} or more, the bytes of an operation", options.memory_bytes,
                             options.bytes));
  }
  if (scenario.load.arrivals.kind != Arrivals::Kind::closed) {
    problems.add("/load/arrivals/kind", "given an open loop with workload verbs; allowed: \"closed\"");
  }
}

void check_queue_pairs(const Scenario& scenario, Problems& problems) {
  if (scenario.queue_pair.per_client > scenario.load.window) {
    problems.add("/queue_pair/per_client",
                 fmt::format("given {} for a window of {}; allowed: the window at most",
                             scenario.queue_pair.per_client, scenario.load.window));
  }
}

// Who looks at its own memory has nothing to sleep on, unless completions tell of what comes there.
void check_slots(const Scenario& scenario, Problems& problems) {
  const auto check_side = [&](const char* pointer, const char* what, const CompletionPolicy& policy) {
    if (policy.mode == CompletionMode::busy || scenario.slots.immediate) return;
    problems.add(pointer,
                 fmt::format("a completion mode other than busy, and {} are WRITEs, which no completion "
                             "tells of; allowed: \"busy\", or /slots/immediate true",
                             what));
  };
  if (writes_requests(scenario.exchange) && !scenario.slots.immediate) {
    check_side("/completion/mode", "requests", scenario.completion);
  } else if (scenario.completion.mode == CompletionMode::shared) {
    problems.add("/completion/mode",
                 "given \"shared\" with an exchange over slots, where each worker has clients of its own; "
                 "allowed: busy, event, event_batch, adaptive, hybrid");
  }
  if (writes_responses(scenario.exchange)) {
    check_side(scenario.client_completion ? "/client_completion/mode" : "/completion/mode", "responses",
               client_policy(scenario));
  }
}

// Values that clients READ for themselves.
void check_items(const Scenario& scenario, Problems& problems) {
  using Distribution = KeyOptions::Distribution;
  if (scenario.transport != Transport::rc || !uses_slots(scenario.exchange)) {
    problems.add(
        "/store/kind",
        fmt::format("given \"items\" over {} with exchange {}, and items are READ over rc, beside an "
                    "exchange over slots; allowed: \"chained\", \"cuckoo\", or transport rc with "
                    "exchange write_write, write_read, read_write or read_read",
                    name_of(scenario.transport), name_of(scenario.exchange)));
    return;
  }
  if (scenario.keys.distribution == Distribution::thesis ||
      scenario.keys.distribution == Distribution::latest) {
    problems.add("/keys/distribution",
                 fmt::format("given \"{}\" with store kind items, whose memory is made for as many keys as "
                             "there will be; allowed: \"uniform\", \"zipf\", \"sequential\"",
                             name_of(scenario.keys.distribution)));
  }
  if (scenario.message.value_capacity_bytes < item_pointer_bytes) {
    problems.add("/message/value_capacity_bytes",
                 fmt::format("given {} with store kind items, where a response says where a value lies; "
                             "allowed: {} or more",
                             scenario.message.value_capacity_bytes, item_pointer_bytes));
  }
}

// A client's requests, or responses to it, that may come to one queue pair at a time.
std::uint64_t outstanding_a_queue_pair(const Scenario& scenario) {
  // Its datagrams come to one, whatever its requests go over.
  return scenario.exchange == Exchange::write_send ? scenario.load.window : window_a_queue_pair(scenario);
}

void check_receives(const Scenario& scenario, Problems& problems) {
  const QueuePairOptions& queue_pair = scenario.queue_pair;
  if (!loses_messages(scenario.transport) || queue_pair.allow_receive_overrun) {
    return;  // TCP and RC hold the sender back
  }
  const std::uint64_t window = outstanding_a_queue_pair(scenario);
  const std::uint64_t posted = queue_pair.receive_depth;
  const char* const advice =
      "a request beyond them is lost; post more, or say queue_pair.allow_receive_overrun=true";
  if (window > posted) {
    problems.add("/queue_pair/receive_depth",
                 fmt::format("given {} for a window of {} outstanding requests{}; {}", posted, window,
                             window < scenario.load.window ? " a queue pair" : "", advice));
  } else if (scenario.transport == Transport::ud &&
             queue_pair.receive_scope == QueuePairOptions::ReceiveScope::in_all &&
             window * most_clients(scenario) > posted * scenario.server.ud_queue_pairs) {
    problems.add(
        "/queue_pair/receive_depth",
        fmt::format("given {} on each of {} shared queue pairs for {} clients with {} outstanding requests "
                    "each; {}",
                    posted, scenario.server.ud_queue_pairs, most_clients(scenario), window, advice));
  }
}

// Receives that wait to be posted anew are not there for requests.
void check_receive_batch(const Scenario& scenario, Problems& problems) {
  const QueuePairOptions& queue_pair = scenario.queue_pair;
  if (queue_pair.receive_batch == 1) return;
  if (scenario.server.ud_receive_lock) {
    problems.add("/queue_pair/receive_batch",
                 fmt::format("given {} with /server/ud_receive_lock, where a worker posts each receive anew "
                             "while it holds the lock; allowed: 1",
                             queue_pair.receive_batch));
    return;
  }
  // Of one queue pair; false: too few.
  const auto check = [&](std::uint64_t posted, std::uint64_t takers, std::uint64_t outstanding) {
    const std::uint64_t waiting = takers * (queue_pair.receive_batch - 1);
    const std::uint64_t needed = queue_pair.allow_receive_overrun ? 1 : outstanding;
    if (waiting + needed <= posted) return true;
    problems.add("/queue_pair/receive_batch",
                 fmt::format("given {}: of {} receives of a queue up to {} wait to be posted anew, and {} "
                             "must be there; take a smaller one, or more receives (receive_depth)",
                             queue_pair.receive_batch, posted, waiting, needed));
    return false;
  };
  const std::uint64_t window = outstanding_a_queue_pair(scenario);
  const std::uint64_t depth = queue_pair.receive_depth;
  if (!check(depth, 1, window) || uses_slots(scenario.exchange)) return;
  const bool ud = scenario.transport == Transport::ud;
  const bool in_all = queue_pair.receive_scope == QueuePairOptions::ReceiveScope::in_all;
  for (const std::uint32_t clients : scenario.clients) {
    const std::uint32_t queue_pairs = queue_pair_count(scenario, clients);
    const std::uint32_t groups = group_count(scenario, clients);
    const std::uint64_t takers = dealt(worker_count(scenario, clients), groups, 0);
    if (queue_pair.shared_receive_queue) {
      // All workers post to it. Fewer receives than requests are what in_all is for: RC's clients wait.
      if (!check(shared_receives(scenario, clients), worker_count(scenario, clients),
                 in_all ? 1 : std::uint64_t{scenario.load.window} * clients)) {
        return;
      }
      continue;
    }
    // The queue pair with the fewest to spare.
    const std::uint64_t most = ud ? dealt(clients, queue_pairs, 0) : 1;
    const std::uint64_t fewest = ud ? dealt(clients, queue_pairs, queue_pairs - 1) : 1;
    const bool enough =
        ud && in_all ? check(depth, takers, window * most) : check(depth * fewest, takers, window * fewest);
    if (!enough) return;
  }
}

}  // namespace

bool check_exchange(const nlohmann::json& document, Problems& problems) {
  static const std::map<std::string, std::vector<std::string>> allowed{
      {"tcp", {"socket_socket"}},
      {"rc", {"send_send", "write_write", "write_read", "read_write", "read_read"}},
      {"uc", {"send_send", "write_write", "write_send"}},
      {"ud", {"send_send"}}};
  if (!document.contains("exchange")) {
    return true;
  }
  const auto exchange = document["exchange"].get<std::string>();
  const std::string transport = document.value("transport", "uc");
  const std::vector<std::string>& here = allowed.at(transport);
  if (std::find(here.begin(), here.end(), exchange) != here.end()) {
    return true;
  }
  const bool reads = exchange.find("read") != std::string::npos;
  std::string reason;
  if (transport == "tcp") {
    reason = "tcp has sockets only";
  } else if (exchange == "socket_socket") {
    reason = "sockets are tcp's";
  } else if (reads) {
    reason = "UC and UD have no RDMA READ";
  } else if (transport == "ud") {
    reason = "UD has no RDMA WRITE";
  } else {
    reason = "its requests go over UC, its responses over UD";  // write_send
  }
  problems.add("/exchange", fmt::format("given \"{}\" over {}: {}; allowed: \"{}\"", exchange, transport,
                                        reason, fmt::join(here, "\", \"")));
  return false;
}

void check_scenario(const Scenario& scenario, Problems& problems) {
  check_name("/name", scenario.name, name_signs, problems);
  check_name("/device/name", scenario.device.name, "._-", problems);
  check_binding("/server/bind_each", scenario.server, problems);
  check_binding("/client/bind_each", scenario.client, problems);
  check_load(scenario, problems);
  if (scenario.workload == Workload::verbs) {
    check_verbs_load(scenario, problems);
    check_completion(scenario, problems);
    return;
  }
  check_operations(scenario, problems);
  check_keys(scenario, problems);
  if (scenario.keys.distribution != KeyOptions::Distribution::thesis) {
    check_sizes("/value_size", scenario.value_size, problems);
  }
  check_capacities(scenario, problems);
  check_completion(scenario, problems);
  check_queue_pairs(scenario, problems);
  if (scenario.exchange == Exchange::send_send) check_doorbell_batch(scenario, problems);
  if (uses_slots(scenario.exchange)) check_slots(scenario, problems);
  if (scenario.store.kind == StoreOptions::Kind::items) check_items(scenario, problems);
  if (posts_receives(scenario)) {
    check_receives(scenario, problems);
    check_receive_batch(scenario, problems);
  }
}

}  // namespace rkv
