#include "core/scenario/applicability.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/scenario/server_queues.hpp"

namespace rkv {
namespace {

using nlohmann::json;

struct Rule {
  std::string pointer;
  bool applies;
  std::string_view needs;  // what the field needs to mean something
};

void add_completion_rules(const std::string& at, const CompletionPolicy& policy, Transport transport,
                          std::vector<Rule>& rules) {
  using enum CompletionMode;
  const bool connected = transport == Transport::rc || transport == Transport::uc;
  rules.push_back({at + "/batch", policy.mode == event_batch || policy.mode == adaptive,
                   "completion mode event_batch or adaptive"});
  rules.push_back({at + "/empty_polls", policy.mode == adaptive, "completion mode adaptive"});
  rules.push_back({at + "/spin_us", policy.mode == hybrid, "completion mode hybrid"});
  rules.push_back({at + "/shared_wait", policy.mode == shared, "completion mode shared"});
  rules.push_back({at + "/await_event", connected && (policy.mode == event || policy.mode == event_batch),
                   "transport rc or uc, since UD's workers wait for one queue together, and completion mode "
                   "event or event_batch"});
}

void add_size_rules(const std::string& at, const SizeDistribution& sizes, std::vector<Rule>& rules) {
  using enum SizeDistribution::Kind;
  const bool ranged = sizes.kind != fixed && sizes.kind != discrete;
  const bool shaped = sizes.kind == generalised_pareto || sizes.kind == generalised_extreme_value;
  const bool listed = sizes.kind == discrete || sizes.kind == generalised_pareto;
  rules.push_back({at + "/bytes", sizes.kind == fixed, "kind fixed"});
  for (const char* const field : {"/min_bytes", "/max_bytes"}) {
    rules.push_back({at + field, ranged, "a kind other than fixed and discrete"});
  }
  for (const char* const field : {"/mean_bytes", "/stddev_bytes"}) {
    rules.push_back({at + field, sizes.kind == normal, "kind normal"});
  }
  for (const char* const field : {"/location", "/scale", "/shape"}) {
    rules.push_back({at + field, shaped, "kind generalised_pareto or generalised_extreme_value"});
  }
  for (const char* const field : {"/discrete_bytes", "/discrete_weights"}) {
    rules.push_back({at + field, listed, "kind discrete or generalised_pareto"});
  }
}

std::vector<Rule> rules_for(const Scenario& scenario) {
  using Distribution = KeyOptions::Distribution;
  const bool tcp = scenario.transport == Transport::tcp;
  const bool ud = scenario.transport == Transport::ud;
  const bool unreliable = ud || scenario.transport == Transport::uc;
  const bool open_loop = scenario.load.arrivals.kind != Arrivals::Kind::closed;
  const bool thesis = scenario.keys.distribution == Distribution::thesis;
  const bool skewed =
      scenario.keys.distribution == Distribution::zipf || scenario.keys.distribution == Distribution::latest;
  std::vector<Rule> rules;
  // Outer fields come before those in them, so that one complaint covers a whole object.
  rules.push_back({"/socket", tcp, "transport tcp"});
  rules.push_back({"/queue_pair", !tcp, "transport rc, uc or ud"});
  const bool verbs = scenario.workload == Workload::verbs;
  const bool only_sends = verbs && scenario.verbs.sends();
  rules.push_back({"/exchange", !verbs, "workload store"});
  rules.push_back({"/verbs", verbs, "workload verbs"});
  rules.push_back(
      {"/verbs/watch", scenario.verbs.operation == VerbsOptions::Operation::read, "operation read"});
  rules.push_back({"/verbs/memory_bytes", !only_sends, "an operation other than send"});
  rules.push_back({"/queue_pair/doorbell_batch", verbs || scenario.exchange == Exchange::send_send,
                   "workload verbs, or exchange send_send, since over slots each message is posted when its "
                   "own slot is ready"});
  const bool slots = uses_slots(scenario.exchange);
  const bool reads = slots && (!writes_requests(scenario.exchange) || reads_responses(scenario.exchange));
  rules.push_back({"/slots", slots, "an exchange over slots of memory"});
  rules.push_back({"/slots/read_pause_us", reads, "an exchange in which one side READs"});
  rules.push_back({"/slots/immediate", writes(scenario.exchange), "an exchange in which one side WRITEs"});
  rules.push_back({"/queue_pair/per_client", !ud && !verbs,
                   "workload store over transport rc or uc (ud's clients share the server's: "
                   "server.ud_queue_pairs; workload verbs: verbs.queue_pairs)"});
  const bool receives = posts_receives(scenario);
  rules.push_back({"/queue_pair/receive_batch", verbs ? only_sends : receives,
                   "an exchange with SENDs or slots.immediate, or workload verbs and operation send"});
  for (const char* const field : {"/queue_pair/receive_depth", "/queue_pair/allow_receive_overrun"}) {
    rules.push_back({field, receives, "an exchange with SENDs, or slots.immediate"});
  }
  for (const char* const field : {"/queue_pair/receive_depth", "/server"}) {
    rules.push_back({field, !verbs || only_sends, "workload store, or operation send"});
  }
  for (const char* const field : {"/queue_pair/signal_interval", "/queue_pair/inline_bytes"}) {
    rules.push_back(
        {field, scenario.exchange != Exchange::read_read, "an exchange in which a side does not READ"});
  }
  for (const char* const field : {"/operations", "/keys", "/key_size", "/value_size", "/message", "/store",
                                  "/client_overhead", "/retry", "/check", "/trace",
                                  "/queue_pair/allow_receive_overrun", "/queue_pair/await_send_completion",
                                  "/load/stay_until_all_end", "/load/think_time_us", "/load/turns"}) {
    rules.push_back({field, !verbs, "workload store"});
  }
  const bool rc_sends =
      !verbs && scenario.transport == Transport::rc && scenario.exchange == Exchange::send_send;
  rules.push_back({"/queue_pair/shared_receive_queue", rc_sends,
                   "workload store over transport rc with exchange send_send: uc has none, and ud's clients "
                   "share queue pairs"});
  rules.push_back(
      {"/queue_pair/receives_after_drain",
       rc_sends && !scenario.queue_pair.shared_receive_queue && scenario.queue_pair.receive_batch == 1,
       "workload store over transport rc with exchange send_send (uc and ud lose a message that "
       "finds no receive), without shared_receive_queue, with receive_batch 1"});
  rules.push_back({"/queue_pair/receive_scope", ud || scenario.queue_pair.shared_receive_queue,
                   "transport ud, or shared_receive_queue"});
  rules.push_back({"/queue_pair/allow_receive_overrun", unreliable, "transport uc or ud"});
  rules.push_back({"/retry", unreliable, "transport uc or ud"});
  rules.push_back({"/device", !tcp, "transport rc, uc or ud"});
  rules.push_back({"/server/ud_queue_pairs", ud, "transport ud"});
  rules.push_back({"/server/ud_receive_lock", ud, "transport ud"});
  rules.push_back({"/load/think_time_us", !open_loop, "arrivals closed"});
  for (const char* const field : {"/load/turns/length_us", "/load/turns/overlap_us"}) {
    rules.push_back({field, scenario.load.turns.clients > 0, "load.turns.clients above 0"});
  }
  rules.push_back({"/load/arrivals/rate_ops_s", open_loop, "arrivals constant or poisson"});
  rules.push_back(
      {"/operations", !thesis, "a key distribution other than thesis, which has its own operations"});
  for (const char* const field : {"/keys/count", "/keys/preload"}) {
    rules.push_back(
        {field, !thesis, "a key distribution other than thesis, whose keys grow with the operations"});
  }
  for (const char* const field : {"/key_size", "/value_size"}) {
    rules.push_back({field, !thesis, "a key distribution other than thesis, which has its own texts"});
  }
  rules.push_back({"/keys/theta", skewed, "key distribution zipf or latest"});
  rules.push_back(
      {"/store/buckets", scenario.store.kind == StoreOptions::Kind::chained, "store kind chained"});
  rules.push_back(
      {"/store/client_pointers", scenario.store.kind == StoreOptions::Kind::items, "store kind items"});
  add_completion_rules("/completion", scenario.completion, scenario.transport, rules);
  if (scenario.client_completion) {
    add_completion_rules("/client_completion", *scenario.client_completion, scenario.transport, rules);
  }
  add_size_rules("/key_size", scenario.key_size, rules);
  add_size_rules("/value_size", scenario.value_size, rules);
  return rules;
}

}  // namespace

void check_applicable(const Scenario& scenario, const nlohmann::json& given, Problems& problems) {
  std::string refused = "-";  // no pointer starts with it
  for (const Rule& rule : rules_for(scenario)) {
    const json::json_pointer pointer(rule.pointer);
    if (rule.applies || rule.pointer.starts_with(refused) || !given.contains(pointer)) {
      continue;
    }
    refused = rule.pointer;
    problems.add(rule.pointer, fmt::format("means nothing here: it needs {}; remove it (--set {}=null)",
                                           rule.needs, rule.pointer));
  }
}

void remove_inapplicable(const Scenario& scenario, nlohmann::json& document) {
  for (const Rule& rule : rules_for(scenario)) {
    const json::json_pointer pointer(rule.pointer);
    if (!rule.applies && document.contains(pointer)) {
      document.at(pointer.parent_pointer()).erase(pointer.back());
    }
  }
}

}  // namespace rkv
