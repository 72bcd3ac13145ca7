// Every kind of refusal, with the exact place that it names.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/scenario/load.hpp"

namespace {

using nlohmann::json;

// The places named, one a line of the message, each after "test: ".
std::vector<std::string> refused_places(const std::string& text) {
  std::vector<std::string> places;
  try {
    rkv::parse_scenario(text, "test");
  } catch (const rkv::InputError& error) {
    std::istringstream lines(error.what());
    for (std::string line; std::getline(lines, line);) {
      REQUIRE(line.starts_with("test: /"));
      const std::size_t end = line.find(": ", 6);
      REQUIRE(end != std::string::npos);
      REQUIRE(line.size() > end + 2);
      places.push_back(line.substr(6, end - 6));
    }
  }
  return places;
}

struct Bad {
  const char* change;  // merged into a scenario that is accepted
  std::vector<std::string> places;
  const char* says;  // a part of the message
};

const char* const good = R"({"transport": "uc", "load": {"total_operations": 1000}})";

const std::vector<Bad> table{
    // The schema: unknown, wrong type, out of range.
    {R"({"transprot": "uc"})", {"/transprot"}, "allowed here: check, client,"},
    {R"({"queue_pair": {"recieve_depth": 8}})",
     {"/queue_pair/recieve_depth"},
     "receive_depth, receive_scope"},
    {R"({"a/b": 1})", {"/a~1b"}, "unknown field"},
    {R"({"transport": "xrc"})", {"/transport"}, R"(given "xrc"; allowed: "tcp", "rc", "uc", "ud")"},
    {R"({"transport": 4})", {"/transport"}, "given 4"},
    {R"({"queue_pair": {"receive_depth": 0}})", {"/queue_pair/receive_depth"}, "from 1 to 16384"},
    {R"({"queue_pair": {"receive_depth": "8"}})", {"/queue_pair/receive_depth"}, "a whole number"},
    {R"({"queue_pair": {"receive_depth": 8.5}})", {"/queue_pair/receive_depth"}, "given 8.5"},
    {R"({"queue_pair": 8})", {"/queue_pair"}, "an object"},
    {R"({"clients": 0})", {"/clients"}, "from 1 to 65536"},
    {R"({"clients": [1, 2, 70000]})", {"/clients/2"}, "given 70000"},
    {R"({"clients": []})", {"/clients"}, "given []"},
    {R"({"clients": [4, 4]})", {"/clients"}, "none twice"},
    {R"({"client": {"bind_each": true}})", {"/client/bind_each"}, "without cores"},
    {R"({"server": {"bind_each": true}})", {"/server/bind_each"}, "without cores"},
    {R"({"server": {"cores": [0, -1]}})", {"/server/cores/1"}, "given -1"},
    {R"({"seed": 18446744073709551615})", {"/seed"}, "to 9007199254740991"},
    {R"({"key_size": {"kind": "normal", "mean_bytes": 18446744073709551611}})",
     {"/key_size/mean_bytes"},
     "to 1024"},
    {R"({"name": "../x"})", {"/name"}, R"(given "../x"; allowed: letters, digits and ._=-)"},
    {R"({"name": ""})", {"/name"}, "a text of 1 to 200 characters"},
    {R"({"name": "a b"})", {"/name"}, "letters, digits"},
    {R"({"device": {"name": "../../dev/x"}})", {"/device/name"}, "letters, digits and ._-,"},
    {R"({"device": {"name": "a/b"}})", {"/device/name"}, "letters, digits and ._-,"},
    {R"({"client_completion": {"mode": "shared"}})", {"/client_completion/mode"}, "given \"shared\""},
    {R"({"trace": 1, "seed": -1, "load": {"window": 0}})",
     {"/load/window", "/seed", "/trace"},
     "true or false"},
    {R"({"sweep": {"seed": [1, 2]}})", {"/sweep"}, "one scenario"},

    // How much, how long, how fast.
    {R"({"load": {"total_operations": null}})", {"/load"}, "neither how much nor how long"},
    {R"({"load": {"duration_s": 1}})", {"/load/duration_s"}, "given together with total_operations 1000"},
    {R"({"load": {"duration_s": 0}})", {"/load/duration_s"}, "above 0"},
    {R"({"clients": [1, 2000]})", {"/load/total_operations"}, "one operation a client"},
    {R"({"load": {"warm_up_operations": 5, "warm_up_s": 1}})", {"/load/warm_up_s"}, "one of them"},
    {R"({"load": {"arrivals": {"kind": "poisson"}}})", {"/load/arrivals/rate_ops_s"}, "not above 0"},
    {R"({"load": {"arrivals": {"kind": "constant", "rate_ops_s": 0}}})",
     {"/load/arrivals/rate_ops_s"},
     "not above 0"},
    {R"({"load": {"arrivals": {"rate_ops_s": 10}}})",
     {"/load/arrivals/rate_ops_s"},
     "arrivals constant or poisson"},
    {R"({"load": {"think_time_us": 3, "arrivals": {"kind": "poisson", "rate_ops_s": 10}}})",
     {"/load/think_time_us"},
     "arrivals closed"},

    {R"({"load": {"turns": {"length_us": 50}}})", {"/load/turns/length_us"}, "load.turns.clients above 0"},
    {R"({"load": {"turns": {"clients": 2, "overlap_us": 101}}})",
     {"/load/turns/overlap_us"},
     "more than a turn's length_us"},
    {R"({"workload": "verbs", "verbs": {"operation": "write"}, "load": {"turns": {"clients": 2}}})",
     {"/load/turns"},
     "workload store"},

    // Operations, keys, sizes.
    {R"({"operations": {"get": 0, "set": 0}})", {"/operations"}, "one above 0"},
    {R"({"operations": {"read_modify_write": 1}, "load": {"window": 2}})",
     {"/operations/read_modify_write"},
     "a window of 1"},
    {R"({"operations": {"read_modify_write": 1}, "keys": {"distribution": "latest", "scope": "per_client"}})",
     {"/operations/read_modify_write"},
     "another distribution"},
    {R"({"keys": {"distribution": "latest"}})", {"/keys/scope"}, "per_client"},
    {R"({"keys": {"distribution": "thesis"}})", {"/keys/scope"}, "per_client"},
    {R"({"keys": {"distribution": "thesis", "scope": "per_client", "count": 7}, "operations": {"get": 1}})",
     {"/operations", "/keys/count"},
     "its own operations"},
    {R"({"keys": {"distribution": "thesis", "scope": "per_client"}, "value_size": {"bytes": 7}})",
     {"/value_size"},
     "its own texts"},
    {R"({"keys": {"distribution": "thesis", "scope": "per_client"}, "message": {"key_capacity_bytes": 48}})",
     {"/message/key_capacity_bytes"},
     "49 or more"},
    {R"({"keys": {"theta": 0.5}})", {"/keys/theta"}, "zipf or latest"},
    {R"({"keys": {"distribution": "zipf", "theta": -0.5}})", {"/keys/theta"}, "from 0"},
    {R"({"key_size": {"bytes": 3}})", {"/key_size/bytes"}, "4 bytes or more"},
    {R"({"key_size": {"bytes": 4}, "keys": {"scope": "per_client"}, "clients": 100})",
     {"/key_size/bytes"},
     "5 bytes"},
    {R"({"key_size": {"kind": "uniform", "min_bytes": 2, "max_bytes": 9}})",
     {"/key_size/min_bytes"},
     "4 bytes"},
    {R"({"key_size": {"kind": "uniform", "min_bytes": 12, "max_bytes": 9}})",
     {"/key_size/min_bytes"},
     "max_bytes 9"},
    {R"({"key_size": {"min_bytes": 12}})", {"/key_size/min_bytes"}, "other than fixed and discrete"},
    {R"({"value_size": {"kind": "generalised_pareto", "max_bytes": 200}})", {"/value_size/scale"}, "above 0"},
    {R"({"value_size": {"kind": "discrete", "discrete_bytes": [1, 2], "discrete_weights": [1]}})",
     {"/value_size/discrete_weights"},
     "1 weights for 2 sizes"},
    {R"({"value_size": {"kind": "discrete"}})", {"/value_size/discrete_weights"}, "no weight above 0"},
    {R"({"value_size": {"kind": "generalised_pareto", "scale": 1, "max_bytes": 200, "discrete_bytes": [1],
         "discrete_weights": [2]}})",
     {"/value_size/discrete_weights"},
     "add up to 2"},
    {R"({"key_size": {"bytes": 65}, "value_size": {"bytes": 257}})",
     {"/message/key_capacity_bytes", "/message/value_capacity_bytes"},
     "257 or more"},
    {R"({"preset": "ycsb_e"})", {"/preset"}, "scans"},
    {R"({"preset": "sys"})", {"/preset"}, "without a formula"},
    {R"({"preset": "ycsb_b", "message": {"value_capacity_bytes": 999}})",
     {"/message/value_capacity_bytes"},
     "1000 or more"},

    // Transport, exchange, completion.
    {R"({"exchange": "socket_socket"})", {"/exchange"}, "sockets are tcp's; allowed: \"send_send\""},
    {R"({"exchange": "send_send", "transport": "tcp"})",
     {"/exchange"},
     "sockets only; allowed: \"socket_socket\""},
    {R"({"exchange": "read_read"})", {"/exchange"}, "UC and UD have no RDMA READ"},
    {R"({"exchange": "write_read"})", {"/exchange"}, "UC and UD have no RDMA READ"},
    {R"({"exchange": "read_write", "transport": "ud"})", {"/exchange"}, "UC and UD have no RDMA READ"},
    {R"({"exchange": "write_write", "transport": "ud"})", {"/exchange"}, "UD has no RDMA WRITE"},
    {R"({"exchange": "write_write", "transport": "tcp"})", {"/exchange"}, "tcp has sockets only"},
    {R"({"exchange": "write_send", "transport": "rc"})",
     {"/exchange"},
     "requests go over UC, its responses over UD"},
    {R"({"exchange": "rdma"})", {"/exchange"}, "\"send_send\", \"write_write\""},
    {R"({"transport": "tcp", "queue_pair": {"receive_depth": 4, "max_sge": 2}})",
     {"/queue_pair"},
     "rc, uc or ud"},
    {R"({"transport": "tcp", "retry": {"retries": 1}})", {"/retry"}, "uc or ud"},
    {R"({"transport": "rc", "retry": {"retries": 1}})", {"/retry"}, "uc or ud"},
    {R"({"transport": "tcp", "device": {"port": 1}})", {"/device"}, "rc, uc or ud"},
    {R"({"socket": {"server_wait": "select"}})", {"/socket"}, "transport tcp"},
    {R"({"transport": "tcp", "socket": {"server_wait": "select"}})", {"/socket/server_wait"}, "never blocks"},
    {R"({"server": {"ud_queue_pairs": 2, "ud_receive_lock": true}})",
     {"/server/ud_queue_pairs", "/server/ud_receive_lock"},
     "transport ud"},
    {R"({"queue_pair": {"receive_scope": "in_all"}})", {"/queue_pair/receive_scope"}, "transport ud"},
    {R"({"transport": "rc", "queue_pair": {"allow_receive_overrun": true}})",
     {"/queue_pair/allow_receive_overrun"},
     "uc or ud"},
    {R"({"completion": {"batch": 4}})", {"/completion/batch"}, "event_batch or adaptive"},
    {R"({"completion": {"mode": "event", "spin_us": 4}})", {"/completion/spin_us"}, "mode hybrid"},
    {R"({"client_completion": {"empty_polls": 4}})", {"/client_completion/empty_polls"}, "mode adaptive"},
    {R"({"completion": {"await_event": true}})", {"/completion/await_event"}, "event or event_batch"},
    {R"({"transport": "ud", "completion": {"mode": "event", "await_event": true}})",
     {"/completion/await_event"},
     "workers wait for one queue together"},
    {R"({"transport": "rc", "clients": [4, 2], "server": {"workers": 3},
         "completion": {"mode": "event", "await_event": true}})",
     {"/server/workers"},
     "2 at most"},
    {R"({"client_completion": {"mode": "hybrid", "await_event": true}})",
     {"/client_completion/await_event"},
     "event or event_batch"},
    {R"({"completion": {"mode": "shared"}})", {"/client_completion"}, "missing"},
    {R"({"transport": "tcp", "completion": {"mode": "shared"}, "client_completion": {"mode": "event"}})",
     {"/completion/mode"},
     "no completion queue"},
    {R"({"store": {"buckets": 4}})", {"/store/buckets"}, "store kind chained"},

    // Exchanges over slots of memory.
    {R"({"exchange": "write_write", "completion": {"mode": "event"}})",
     {"/completion/mode", "/completion/mode"},
     "requests are WRITEs, which no completion tells of"},
    {R"({"exchange": "write_write", "client_completion": {"mode": "event"}})",
     {"/client_completion/mode"},
     "responses are WRITEs"},
    {R"({"exchange": "write_read", "transport": "rc", "completion": {"mode": "adaptive"}})",
     {"/completion/mode"},
     "requests are WRITEs"},
    {R"({"exchange": "read_write", "transport": "rc", "completion": {"mode": "event"}})",
     {"/completion/mode"},
     "responses are WRITEs"},
    {R"({"exchange": "read_read", "transport": "rc", "completion": {"mode": "shared"},
         "client_completion": {"mode": "busy"}})",
     {"/completion/mode"},
     "each worker has clients of its own"},
    {R"({"exchange": "write_send", "completion": {"mode": "event"}})",
     {"/completion/mode"},
     "requests are WRITEs"},
    {R"({"exchange": "write_send", "load": {"window": 17}})", {"/queue_pair/receive_depth"}, "window of 17"},
    {R"({"exchange": "read_read", "transport": "rc", "queue_pair": {"signal_interval": 4}})",
     {"/queue_pair/signal_interval"},
     "does not READ"},
    {R"({"exchange": "write_write", "slots": {"read_pause_us": 1}})",
     {"/slots/read_pause_us"},
     "one side READs"},
    {R"({"exchange": "write_write", "queue_pair": {"receive_depth": 4}})",
     {"/queue_pair/receive_depth"},
     "an exchange with SENDs, or slots.immediate"},
    {R"({"slots": {"immediate": true}})", {"/slots"}, "an exchange over slots"},
    {R"({"exchange": "read_read", "transport": "rc", "slots": {"immediate": true}})",
     {"/slots/immediate"},
     "one side WRITEs"},
    {R"({"exchange": "write_write", "completion": {"mode": "event"}, "slots": {"immediate": false}})",
     {"/completion/mode", "/completion/mode"},
     "\"busy\", or /slots/immediate true"},
    {R"({"exchange": "write_write", "completion": {"mode": "shared"}, "client_completion": {"mode": "busy"},
         "slots": {"immediate": true}})",
     {"/completion/mode"},
     "each worker has clients of its own"},
    {R"({"exchange": "write_write", "load": {"window": 17}, "slots": {"immediate": true}})",
     {"/queue_pair/receive_depth"},
     "given 16 for a window of 17"},
    {R"({"exchange": "write_write", "transport": "rc", "load": {"window": 14}, "slots": {"immediate": true},
         "queue_pair": {"receive_batch": 4}})",
     {"/queue_pair/receive_batch"},
     "14 must be there"},
    {R"({"exchange": "write_send", "load": {"window": 17}, "queue_pair": {"per_client": 2}})",
     {"/queue_pair/receive_depth"},
     "window of 17 outstanding requests;"},

    {R"({"transport": "ud", "queue_pair": {"per_client": 2}, "load": {"window": 2}})",
     {"/queue_pair/per_client"},
     "ud's clients share the server's"},
    {R"({"queue_pair": {"per_client": 2}})", {"/queue_pair/per_client"}, "the window at most"},
    {R"({"load": {"window": 17}, "queue_pair": {"per_client": 2, "receive_depth": 8}})",
     {"/queue_pair/receive_depth"},
     "given 8 for a window of 9 outstanding requests a queue pair"},
    {R"({"exchange": "write_write", "queue_pair": {"per_client": 2}})",
     {"/queue_pair/per_client"},
     "the window at most"},
    {R"({"workload": "verbs", "verbs": {"operation": "write"}, "queue_pair": {"per_client": 1}})",
     {"/queue_pair/per_client"},
     "verbs.queue_pairs"},

    // Items that clients READ.
    {R"({"store": {"client_pointers": 4}})", {"/store/client_pointers"}, "store kind items"},
    {R"({"store": {"kind": "items"}})", {"/store/kind"}, "READ over rc, beside an exchange over slots"},
    {R"({"exchange": "write_write", "store": {"kind": "items"}})",
     {"/store/kind"},
     "over uc with exchange write_write"},
    {R"({"transport": "rc", "store": {"kind": "items"}})",
     {"/store/kind"},
     "over rc with exchange send_send"},
    {R"({"transport": "tcp", "store": {"kind": "items"}})", {"/store/kind"}, "over tcp"},
    {R"({"transport": "rc", "exchange": "write_read", "store": {"kind": "items"}, "operations": null,
         "keys": {"distribution": "thesis", "scope": "per_client"}})",
     {"/keys/distribution"},
     "as many keys as there will be"},
    {R"({"transport": "rc", "exchange": "write_read", "store": {"kind": "items"},
         "keys": {"distribution": "latest", "scope": "per_client"}})",
     {"/keys/distribution"},
     "as many keys as there will be"},
    {R"({"transport": "rc", "exchange": "write_read", "store": {"kind": "items"}, "value_size": {"bytes": 8},
         "message": {"value_capacity_bytes": 11}})",
     {"/message/value_capacity_bytes"},
     "allowed: 12 or more"},

    {R"({"queue_pair": {"shared_receive_queue": true}})",
     {"/queue_pair/shared_receive_queue"},
     "uc has none"},
    {R"({"transport": "ud", "queue_pair": {"shared_receive_queue": true}})",
     {"/queue_pair/shared_receive_queue"},
     "clients share queue pairs"},
    {R"({"transport": "rc", "exchange": "write_write", "queue_pair": {"shared_receive_queue": true}})",
     {"/queue_pair/shared_receive_queue"},
     "exchange send_send"},
    {R"({"transport": "uc", "queue_pair": {"receives_after_drain": true}})",
     {"/queue_pair/receives_after_drain"},
     "uc and ud lose a message"},
    {R"({"transport": "rc", "exchange": "write_write", "queue_pair": {"receives_after_drain": true}})",
     {"/queue_pair/receives_after_drain"},
     "exchange send_send"},
    {R"({"transport": "rc", "queue_pair": {"receives_after_drain": true, "receive_batch": 2}})",
     {"/queue_pair/receives_after_drain"},
     "receive_batch 1"},
    {R"({"transport": "rc", "queue_pair": {"receives_after_drain": true, "shared_receive_queue": true}})",
     {"/queue_pair/receives_after_drain"},
     "without shared_receive_queue"},
    {R"({"transport": "rc", "queue_pair": {"receive_scope": "in_all"}})",
     {"/queue_pair/receive_scope"},
     "or shared_receive_queue"},
    {R"({"transport": "rc", "clients": [2], "server": {"workers": 3}, "load": {"window": 13},
         "queue_pair": {"shared_receive_queue": true, "receive_batch": 4}})",
     {"/queue_pair/receive_batch"},
     "of 32 receives of a queue up to 9 wait to be posted anew, and 26"},

    // Workload verbs.
    {R"({"workload": "verbs", "transport": "tcp"})", {"/transport"}, "allowed: \"rc\", \"uc\""},
    {R"({"workload": "verbs", "transport": "ud"})", {"/transport"}, "allowed: \"rc\", \"uc\""},
    {R"({"workload": "verbs"})", {"/verbs/operation"}, "uc, which has neither RDMA READ"},
    {R"({"workload": "verbs", "verbs": {"operation": "fetch_and_add", "bytes": 8}})",
     {"/verbs/operation"},
     "nor atomic operations"},
    {R"({"workload": "verbs", "transport": "rc", "exchange": "write_write"})",
     {"/exchange"},
     "workload store"},
    {R"({"workload": "verbs", "transport": "rc", "verbs": {"operation": "compare_and_swap"}})",
     {"/verbs/bytes"},
     "given 32 for an atomic operation; allowed: 8"},
    {R"({"workload": "verbs", "verbs": {"operation": "write", "watch": false}})",
     {"/verbs/watch"},
     "operation read"},
    {R"({"workload": "verbs", "verbs": {"operation": "send", "memory_bytes": 64}})",
     {"/verbs/memory_bytes"},
     "an operation other than send"},
    {R"({"workload": "verbs", "verbs": {"operation": "send"},
         "queue_pair": {"receive_depth": 4, "receive_batch": 5}})",
     {"/queue_pair/receive_batch"},
     "given 5 of 4 receives"},
    {R"({"workload": "verbs", "transport": "rc", "queue_pair": {"receive_depth": 4}})",
     {"/queue_pair/receive_depth"},
     "operation send"},
    {R"({"workload": "verbs", "transport": "rc", "server": {"workers": 4}})", {"/server"}, "operation send"},
    {R"({"workload": "verbs", "verbs": {"operation": "write"}, "load": {"window": 4},
         "queue_pair": {"doorbell_batch": 5}})",
     {"/queue_pair/doorbell_batch"},
     "given 5 for a window of 4"},
    {R"({"load": {"window": 4}, "queue_pair": {"doorbell_batch": 5}})",
     {"/queue_pair/doorbell_batch"},
     "given 5 for a window of 4"},
    {R"({"load": {"window": 8}, "queue_pair": {"doorbell_batch": 4, "await_send_completion": true}})",
     {"/queue_pair/doorbell_batch"},
     "each send is awaited"},
    {R"({"exchange": "write_write", "load": {"window": 8}, "queue_pair": {"doorbell_batch": 4}})",
     {"/queue_pair/doorbell_batch"},
     "or exchange send_send, since over slots"},
    {R"({"transport": "tcp", "queue_pair": {"doorbell_batch": 4}})", {"/queue_pair"}, "transport rc, uc"},
    {R"({"exchange": "write_write", "queue_pair": {"receive_batch": 4}})",
     {"/queue_pair/receive_batch"},
     "an exchange with SENDs or slots.immediate, or workload verbs"},
    {R"({"workload": "verbs", "transport": "rc", "queue_pair": {"receive_batch": 4}})",
     {"/queue_pair/receive_batch"},
     "operation send"},
    {R"({"transport": "rc", "load": {"window": 14}, "queue_pair": {"receive_batch": 4}})",
     {"/queue_pair/receive_batch"},
     "of 16 receives of a queue up to 3 wait to be posted anew, and 14 must be there"},
    {R"({"exchange": "write_send", "load": {"window": 14}, "queue_pair": {"receive_batch": 4}})",
     {"/queue_pair/receive_batch"},
     "14 must be there"},
    {R"({"transport": "rc", "clients": [3], "load": {"window": 11}, "completion": {"mode": "shared"},
         "client_completion": {"mode": "busy"}, "queue_pair": {"receive_batch": 3}})",
     {"/queue_pair/receive_batch"},
     "up to 6 wait"},
    {R"({"transport": "ud", "clients": [4], "load": {"window": 13}, "server": {"workers": 9},
         "queue_pair": {"receive_batch": 3}})",
     {"/queue_pair/receive_batch"},
     "of 64 receives of a queue up to 18 wait to be posted anew, and 52"},
    {R"({"transport": "ud", "clients": [4], "load": {"window": 1}, "server": {"workers": 2},
         "queue_pair": {"receive_depth": 5, "receive_scope": "in_all", "receive_batch": 2}})",
     {"/queue_pair/receive_batch"},
     "of 5 receives of a queue up to 2 wait to be posted anew, and 4"},
    {R"({"load": {"window": 64}, "queue_pair": {"allow_receive_overrun": true, "receive_batch": 17}})",
     {"/queue_pair/receive_batch"},
     "up to 16 wait to be posted anew, and 1 must"},
    {R"({"transport": "ud", "load": {"window": 2}, "queue_pair": {"per_client": 2, "receive_batch": 2}})",
     {"/queue_pair/per_client"},
     "ud's clients share the server's"},
    {R"({"transport": "ud", "server": {"ud_receive_lock": true}, "queue_pair": {"receive_batch": 2}})",
     {"/queue_pair/receive_batch"},
     "while it holds the lock"},
    {R"({"workload": "verbs", "transport": "rc", "queue_pair": {"signal_interval": 2},
         "completion": {"mode": "event"}})",
     {"/verbs/watch"},
     "a look at memory wakes nobody"},
    {R"({"workload": "verbs", "transport": "rc", "queue_pair": {"signal_interval": 2},
         "client_completion": {"mode": "hybrid"}})",
     {"/verbs/watch"},
     "or signal_interval 1"},
    {R"({"workload": "verbs", "transport": "rc", "verbs": {"clients_a_queue_pair": 2},
         "completion": {"mode": "event"}})",
     {"/verbs/clients_a_queue_pair"},
     "completion mode busy"},
    {R"({"workload": "verbs", "transport": "rc", "verbs": {"clients_a_queue_pair": 2},
         "queue_pair": {"signal_interval": 2}})",
     {"/verbs/clients_a_queue_pair"},
     "signal_interval 1"},
    {R"({"workload": "verbs", "transport": "rc", "verbs": {"alignment_bytes": 12}})",
     {"/verbs/alignment_bytes"},
     "given 12; allowed: powers of two"},
    {R"({"workload": "verbs", "transport": "rc",
         "verbs": {"operation": "fetch_and_add", "bytes": 8, "alignment_bytes": 4}})",
     {"/verbs/alignment_bytes"},
     "from 8 on for atomic operations"},
    {R"({"workload": "verbs", "transport": "rc", "verbs": {"alignment_bytes": 128}})",
     {"/verbs/alignment_bytes"},
     "given 128"},
    {R"({"workload": "verbs", "transport": "rc", "verbs": {"memory_bytes": 64, "bytes": 65}})",
     {"/verbs/memory_bytes"},
     "65 or more"},
    {R"({"workload": "verbs", "transport": "rc",
         "load": {"arrivals": {"kind": "poisson", "rate_ops_s": 10}}})",
     {"/load/arrivals/kind"},
     "an open loop with workload verbs"},
    {R"({"workload": "verbs", "transport": "rc", "keys": {"count": 5}, "check": true})",
     {"/keys", "/check"},
     "workload store"},
    {R"({"workload": "verbs", "transport": "rc", "completion": {"mode": "shared"}})",
     {"/completion/mode"},
     "no server's workers"},
    {R"({"workload": "verbs", "transport": "rc", "completion": {"mode": "shared"},
         "client_completion": {"mode": "busy"}})",
     {"/completion/mode"},
     "allowed: busy, event,"},
    {R"({"transport": "rc", "verbs": {"bytes": 8}})", {"/verbs"}, "workload verbs"},

    // More requests outstanding than receives posted.
    {R"({"load": {"window": 17}})", {"/queue_pair/receive_depth"}, "given 16 for a window of 17"},
    {R"({"transport": "ud", "load": {"window": 17}})",
     {"/queue_pair/receive_depth"},
     "given 16 for a window of 17"},
    {R"({"transport": "ud", "clients": [1, 6], "queue_pair": {"receive_scope": "in_all", "receive_depth": 5}})",
     {"/queue_pair/receive_depth"},
     "given 5 on each of 1 shared queue pairs for 6 clients"},
};

}  // namespace

TEST_CASE("the scenario that the bad ones start from is accepted") {
  CHECK(refused_places(good).empty());
}

TEST_CASE("a bad scenario is refused at the right place") {
  for (const Bad& bad : table) {
    json document = json::parse(good);
    document.merge_patch(json::parse(bad.change));
    INFO(bad.change);
    CHECK(refused_places(document.dump()) == bad.places);
    CHECK_THROWS_WITH(rkv::parse_scenario(document.dump(), "test"), Catch::Contains(bad.says));
  }
}

TEST_CASE("what just fits is accepted") {
  for (
      const char* const change : {
          R"({"load": {"window": 16}})",
          R"({"load": {"window": 17}, "queue_pair": {"allow_receive_overrun": true}})",
          R"({"transport": "rc", "load": {"window": 17}})",
          R"({"transport": "ud", "clients": [1, 5], "queue_pair": {"receive_scope": "in_all", "receive_depth": 5}})",
          R"({"transport": "ud", "clients": [1, 10], "server": {"ud_queue_pairs": 2},
               "queue_pair": {"receive_scope": "in_all", "receive_depth": 5}})",
          R"({"transport": "rc", "load": {"window": 13}, "queue_pair": {"receive_batch": 4}})",
          R"({"transport": "ud", "clients": [4], "load": {"window": 13}, "server": {"workers": 6},
               "queue_pair": {"receive_batch": 3}})",
          R"({"load": {"window": 64}, "queue_pair": {"allow_receive_overrun": true, "receive_batch": 16}})",
          R"({"transport": "rc", "load": {"window": 8}, "queue_pair": {"doorbell_batch": 8}})",
          R"({"transport": "rc", "clients": [8], "load": {"window": 64},
               "queue_pair": {"shared_receive_queue": true, "receive_scope": "in_all", "receive_depth": 3}})",
          R"({"key_size": {"bytes": 4}})",
          R"({"key_size": {"bytes": 64}, "value_size": {"bytes": 256}})",
          R"({"load": {"total_operations": null, "duration_s": 0.5}})",
          R"({"load": {"total_operations": 1e6}})",
          R"({"keys": {"distribution": "zipf", "theta": 1}})",
          R"({"transport": "tcp", "exchange": "socket_socket"})",
          R"({"exchange": "write_write"})",
          R"({"exchange": "write_send", "client_completion": {"mode": "event"}, "queue_pair": {"receive_depth": 3}})",
          R"({"exchange": "write_read", "transport": "rc", "client_completion": {"mode": "event"}})",
          R"({"exchange": "write_write", "slots": {"immediate": true}, "completion": {"mode": "event"},
               "load": {"window": 32}, "queue_pair": {"per_client": 2, "receive_depth": 20, "receive_batch": 5}})",
          R"({"exchange": "write_send", "slots": {"immediate": true}, "completion": {"mode": "adaptive"},
               "client_completion": {"mode": "event", "await_event": true}})",
          R"({"exchange": "read_write", "transport": "rc", "slots": {"immediate": true, "read_pause_us": 1},
               "completion": {"mode": "hybrid"}, "load": {"window": 64}})",
          R"({"exchange": "read_read", "transport": "rc", "store": {"kind": "items", "client_pointers": 0},
               "value_size": {"bytes": 12}, "message": {"value_capacity_bytes": 12}})",
          R"({"exchange": "read_write", "transport": "rc", "completion": {"mode": "event"},
               "client_completion": {"mode": "busy"}})",
          R"({"exchange": "read_read", "transport": "rc", "completion": {"mode": "adaptive"},
               "slots": {"read_pause_us": 2.5}, "load": {"total_operations": 100, "window": 64}})",
          R"({"workload": "verbs", "verbs": {"operation": "write"}, "load": {"total_operations": 100, "window": 64},
               "queue_pair": {"doorbell_batch": 64}})",
          R"({"workload": "verbs", "verbs": {"operation": "send"}, "server": {"workers": 2},
               "queue_pair": {"receive_batch": 16}, "completion": {"mode": "event"}})",
          R"({"workload": "verbs", "transport": "rc", "verbs": {"operation": "fetch_and_add", "bytes": 8},
               "queue_pair": {"signal_interval": 2}, "completion": {"mode": "event"}})",
          R"({"workload": "verbs", "transport": "rc", "completion": {"mode": "event"}})",
          R"({"workload": "verbs", "transport": "rc", "completion": {"mode": "event"},
               "queue_pair": {"signal_interval": 2}, "verbs": {"watch": false}})",
          R"({"workload": "verbs", "transport": "rc", "verbs": {"memory_bytes": 64, "bytes": 64}})",
      }) {
    json document = json::parse(good);
    document.merge_patch(json::parse(change));
    INFO(change);
    CHECK(refused_places(document.dump()).empty());
  }
}

TEST_CASE("text that is no scenario document is refused") {
  CHECK_THROWS_WITH(rkv::parse_scenario("{\"seed\": }", "peer"), Catch::Contains("peer: /: not valid JSON"));
  CHECK_THROWS_WITH(rkv::parse_scenario("{} x", "peer"), Catch::Contains("not valid JSON"));
  CHECK_THROWS_WITH(rkv::parse_scenario("[]", "peer"), Catch::Contains("peer: /: given array"));
  CHECK_THROWS_WITH(rkv::parse_scenario("", "peer"), Catch::Contains("not valid JSON"));
  CHECK_THROWS_WITH(rkv::parse_scenario("{\"seed\": 1e999}", "peer"), Catch::Contains("not valid JSON"));
  CHECK_THROWS_WITH(rkv::parse_scenario("{\"name\": \"\xff\"}", "peer"), Catch::Contains("not valid JSON"));
  CHECK_THROWS_WITH(rkv::parse_scenario(R"({"seed": 1, "seed": 2})", "peer"),
                    Catch::Contains("\"seed\" is given twice"));
  CHECK_THROWS_WITH(rkv::parse_scenario(R"({"load": {"window": 1, "window": 1}})", "peer"),
                    Catch::Contains("\"window\" is given twice"));
}

TEST_CASE("text meant to harm the reader is refused") {
  const std::string deep(100'000, '[');
  CHECK_THROWS_WITH(rkv::parse_scenario("{\"x\":" + deep, "peer"), Catch::Contains("levels deep"));
  const std::string long_name(900'000, 'x');
  CHECK_THROWS_WITH(
      rkv::parse_scenario("{\"name\": \"" + long_name + "\"}", "peer"),
      Catch::Contains("peer: /name: given") && Catch::Contains("a text of 1 to 200 characters"));
  const std::string long_text(2 << 20, ' ');
  CHECK_THROWS_WITH(rkv::parse_scenario(long_text, "peer"), Catch::Contains("2097152 bytes"));
}
