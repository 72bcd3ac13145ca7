// A scenario: everything a study varies, as values. One JSON file holds one scenario; load.hpp reads it,
// validates it and applies command-line overrides. The defaults are the ones written here, in the schema
// (scenarios/scenario.schema.json) and in docs/scenario.md. Plain data: copy it freely, share it read-only.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rkv {

enum class Transport : std::uint8_t { tcp, rc, uc, ud };

// What clients ask of the other side.
enum class Workload : std::uint8_t {
  store,  // a key-value service
  verbs,  // no service: one operation of verbs, over and over (core/verbs_load)
};

// How a request reaches the server and how its response comes back.
enum class Exchange : std::uint8_t {
  send_send,      // verbs: SEND both ways
  socket_socket,  // tcp
  // The request and the response lie in slots of memory that the peer WRITEs or READs (core/exchange/slots).
  write_write,
  write_read,
  read_write,
  read_read,
  write_send,  // the request is WRITTEN over UC into a slot, the response comes by SEND over UD
};
[[nodiscard]] constexpr bool writes_requests(Exchange exchange) {
  return exchange == Exchange::write_write || exchange == Exchange::write_read ||
         exchange == Exchange::write_send;
}
[[nodiscard]] constexpr bool writes_responses(Exchange exchange) {
  return exchange == Exchange::write_write || exchange == Exchange::read_write;
}
[[nodiscard]] constexpr bool reads_responses(Exchange exchange) {
  return exchange == Exchange::write_read || exchange == Exchange::read_read;
}
[[nodiscard]] constexpr bool writes(Exchange exchange) {
  return writes_requests(exchange) || writes_responses(exchange);
}
[[nodiscard]] constexpr bool uses_slots(Exchange exchange) {
  return writes(exchange) || exchange == Exchange::read_read;
}

// How completions (for TCP: bytes on a socket) are awaited; see core/completion/waiter.hpp.
enum class CompletionMode : std::uint8_t {
  busy,         // poll without limit
  event,        // block on the completion channel for each completion
  event_batch,  // block, then take up to `batch` completions an event
  adaptive,     // take up to `batch` at a time until `empty_polls` polls in a row found none, then block
  hybrid,       // poll for `spin` of CPU time, then block
  shared,       // the server's workers share one completion queue; each waits on it by `wait`
};

struct CompletionPolicy {
  CompletionMode mode = CompletionMode::busy;
  std::uint32_t batch = 16;               // event_batch, adaptive: completions at a time
  std::uint32_t empty_polls = 100;        // adaptive: polls in a row without a completion
  std::chrono::nanoseconds spin{20'000};  // hybrid: CPU time spent polling before blocking
  bool await_event = false;  // event, event_batch: wait for the event even if a completion is there
  CompletionMode shared_wait = CompletionMode::event;  // shared: busy or event

  bool operator==(const CompletionPolicy&) const = default;
};

struct SocketOptions {
  // How a server worker waits for bytes when it blocks: `read` blocks in recv(2); `select` calls select(2)
  // first, as the thesis's server did. A client always blocks in recv(2).
  enum class Wait : std::uint8_t { read, select };
  Wait server_wait = Wait::read;

  bool operator==(const SocketOptions&) const = default;
};

struct Arrivals {
  enum class Kind : std::uint8_t { closed, constant, poisson };
  Kind kind = Kind::closed;
  double rate_ops_s = 0;  // open loop: of all clients together

  bool operator==(const Arrivals&) const = default;
};

struct OperationMix {  // weights; they need not add up to 1
  double get = 0.94;
  double set = 0.06;
  double del = 0;
  double ping = 0;               // answered without a look at the store
  double read_modify_write = 0;  // a GET and then a SET of the same key: two operations

  bool operator==(const OperationMix&) const = default;
};

struct KeyOptions {
  enum class Distribution : std::uint8_t {
    uniform,
    zipf,
    sequential,
    latest,  // every SET makes a new key; the others draw, by zipf, from the newest keys of the same client
    thesis,  // the thesis's own sequence, its operations and its texts (core/workload/thesis_sequence.hpp)
  };
  // per_client: every client has `count` keys of its own; shared: all clients draw from the same `count`.
  enum class Scope : std::uint8_t { per_client, shared };
  Distribution distribution = Distribution::uniform;
  Scope scope = Scope::shared;
  std::uint64_t count = 100'000;  // not used by `thesis`, whose keys grow with the operations
  double theta = 0.99;            // zipf, latest: any theta >= 0
  bool preload = true;            // SET every key once before the run (not for `thesis`)

  bool operator==(const KeyOptions&) const = default;
};

// Bytes of a key or a value. Every key has one size for ever; a value's is drawn for each SET.
struct SizeDistribution {
  enum class Kind : std::uint8_t {
    fixed,               // `bytes`
    uniform,             // `min_bytes` to `max_bytes`
    normal,              // mean_bytes, stddev_bytes, clamped to [min_bytes, max_bytes]
    generalised_pareto,  // location, scale, shape, clamped to [min_bytes, max_bytes] (Atikoglu 2012, ETC
                         // values)
    generalised_extreme_value,  // location, scale, shape, clamped (Atikoglu 2012, ETC keys)
    discrete                    // discrete_bytes[i] with weight discrete_weights[i]
  };
  Kind kind = Kind::fixed;
  std::uint32_t bytes = 32;
  std::uint32_t min_bytes = 1;
  std::uint32_t max_bytes = 1024;
  double mean_bytes = 0;
  double stddev_bytes = 0;
  double location = 0;
  double scale = 0;
  double shape = 0;
  // `discrete`: relative weights. With generalised_pareto: probabilities, of which the rest is drawn from
  // that distribution (Atikoglu 2012, ETC values).
  std::vector<std::uint32_t> discrete_bytes;
  std::vector<double> discrete_weights;

  // The extremes this distribution can give; buffers are sized by the largest.
  [[nodiscard]] std::uint32_t largest_bytes() const;
  [[nodiscard]] std::uint32_t smallest_bytes() const;

  bool operator==(const SizeDistribution&) const = default;
};

struct StoreOptions {
  enum class Kind : std::uint8_t {
    chained,
    cuckoo,
    items,  // clients READ values for themselves (core/store/item_store.hpp)
  };
  Kind kind = Kind::cuckoo;
  std::uint32_t buckets = 1024;          // chained only
  std::uint32_t client_pointers = 4096;  // items only: places of items that a client remembers

  bool operator==(const StoreOptions&) const = default;
};

// `fixed` is the thesis's format: every request and response has room for the largest key and value and is
// sent whole. `compact` sends a header and just the bytes of this key and value.
struct MessageOptions {
  enum class Format : std::uint8_t { fixed, compact };
  Format format = Format::compact;
  std::uint32_t key_capacity_bytes = 64;
  std::uint32_t value_capacity_bytes = 256;

  bool operator==(const MessageOptions&) const = default;
};

struct ClientOverhead {
  // thesis: before each operation, outside the timed window, a process-wide lock is taken twice and the key
  // is formatted with printf (rand() and sprintf in that benchmark's client).
  enum class Kind : std::uint8_t { none, thesis };
  Kind kind = Kind::none;

  bool operator==(const ClientOverhead&) const = default;
};

struct ServerOptions {
  std::uint32_t workers = 0;         // 0: one a client
  std::uint32_t ud_queue_pairs = 1;  // UD: queue pairs over which the clients are spread
  bool ud_receive_lock = false;      // UD: a process-wide lock around taking a request out and re-posting
  std::vector<int> cores;            // CPUs its threads may run on; empty: any
  bool bind_each = false;            // thread i on one of them alone, the i-th, in turn

  bool operator==(const ServerOptions&) const = default;
};

struct ClientOptions {
  std::vector<int> cores;
  bool bind_each = false;

  bool operator==(const ClientOptions&) const = default;
};

struct QueuePairOptions {
  std::uint32_t per_client = 1;      // RC, UC: a client's, over which its window is spread
  std::uint32_t receive_depth = 16;  // receives posted: a queue pair's (UD server: see receive_scope)
  // UD server, and shared_receive_queue: per_client posts receive_depth for each client, in_all posts
  // receive_depth on each shared queue (pair) whatever the number of clients, as the thesis did with UD.
  enum class ReceiveScope : std::uint8_t { per_client, in_all };
  ReceiveScope receive_scope = ReceiveScope::per_client;
  // RC, SEND-SEND: the server's queue pairs have one receive queue in common, with as many receives as
  // receive_scope says.
  bool shared_receive_queue = false;
  // RC, SEND-SEND, the server's: receives are posted anew when a look finds no request, not with each request
  // that used one up.
  bool receives_after_drain = false;
  bool allow_receive_overrun = false;  // let more requests be outstanding on UC/UD than receives are posted
  std::uint32_t inline_bytes = 0;      // messages up to this size are posted inline
  std::uint32_t signal_interval = 1;   // one send in so many is signalled
  std::uint32_t doorbell_batch = 1;    // requests, or responses, that are posted together
  std::uint32_t receive_batch = 1;     // receives that are posted anew together
  bool await_send_completion = false;  // wait for each signalled send's completion before going on
  std::uint32_t max_sge = 1;

  bool operator==(const QueuePairOptions&) const = default;
};

// Of an atomic operation of verbs.
inline constexpr std::uint32_t atomic_bytes = 8;

// Workload verbs: what each client does, over queue pairs that it draws at random.
struct VerbsOptions {
  enum class Operation : std::uint8_t { send, write, read, compare_and_swap, fetch_and_add };
  Operation operation = Operation::read;
  std::uint32_t bytes = 32;       // of each operation
  std::uint32_t queue_pairs = 1;  // a client's
  // That have their queue pairs, and the completion queue behind them, in common. More than there are
  // clients: all.
  std::uint32_t clients_a_queue_pair = 1;
  bool rounds = false;     // a window is posted, then all of it is waited for
  bool both_ways = false;  // as many clients on the server's side do the same to the clients' side
  bool watch = true;       // READs that are not signalled: by a look at the memory they go to
  std::uint64_t memory_bytes = 1'048'576;  // that each side exposes
  // The places that operations go to are multiples of this power of two, a cache line at most; with less,
  // also those on the client's side, where no look at them tells of the end.
  std::uint32_t alignment_bytes = 64;

  [[nodiscard]] bool sends() const { return operation == Operation::send; }
  [[nodiscard]] bool atomic() const {
    return operation == Operation::compare_and_swap || operation == Operation::fetch_and_add;
  }
  // Whether the other side's bytes come back.
  [[nodiscard]] bool fetches() const { return operation == Operation::read || atomic(); }

  bool operator==(const VerbsOptions&) const = default;
};

// Exchanges over slots of memory.
struct SlotOptions {
  // Between a READ that found nothing new and the next one of the same slots.
  std::chrono::nanoseconds read_pause{0};
  bool immediate = false;  // WRITEs are WRITEs with immediate, which a completion at the other side tells of

  bool operator==(const SlotOptions&) const = default;
};

struct RetryOptions {                               // UC and UD only
  std::chrono::nanoseconds timeout{2'000'000'000};  // doubles with each retry
  std::uint32_t retries = 5;

  bool operator==(const RetryOptions&) const = default;
};

struct DeviceOptions {
  std::string name = "auto";  // auto: the first RDMA device with an active port, else soft0
  std::uint32_t port = 1;
  std::optional<std::uint32_t> gid_index;  // not set: picked
  // That the driver gives to a process's queue pairs; not set: its default.
  std::optional<std::uint32_t> doorbell_registers = {};

  bool operator==(const DeviceOptions&) const = default;
};

// Groups of clients that issue in turn (core/workload/turns.hpp).
struct TurnOptions {
  std::uint32_t clients = 0;                 // of a group, at most; 0: all issue at all times
  std::chrono::nanoseconds length{100'000};  // of a turn
  std::chrono::nanoseconds overlap{0};       // a group begins so long before its turn

  bool operator==(const TurnOptions&) const = default;
};

struct Load {                          // exactly one of total_operations and duration is set
  std::uint64_t total_operations = 0;  // of all clients together, split evenly
  std::chrono::nanoseconds duration{0};
  std::uint64_t warm_up_operations = 0;       // a client's, not measured
  std::chrono::nanoseconds warm_up{0};        // from each client's first request, not measured
  std::chrono::nanoseconds connect_pause{0};  // a client sleeps so long after connecting
  std::chrono::nanoseconds start_stagger{0};  // client i starts i times this later than client 0
  // A client that has done its operations waits on, polling or asleep, until the last one of its process has
  // done its own.
  bool stay_until_all_end = false;
  std::chrono::nanoseconds think_time{0};  // between a response and the next request of its slot
  TurnOptions turns;
  std::uint32_t window = 1;  // outstanding operations a client
  Arrivals arrivals;

  bool operator==(const Load&) const = default;
};

struct Scenario {
  std::string name;         // from the file's name unless it has one
  std::string description;  // what question it answers
  Transport transport = Transport::uc;
  Workload workload = Workload::store;
  Exchange exchange = Exchange::send_send;  // socket_socket for tcp
  CompletionPolicy completion;              // server side, and client side unless it has its own
  std::optional<CompletionPolicy> client_completion;
  std::vector<std::uint32_t> clients{1};  // one point each
  Load load;
  OperationMix operations;
  KeyOptions keys;
  SizeDistribution key_size;
  SizeDistribution value_size;
  MessageOptions message;
  StoreOptions store;
  ServerOptions server;
  ClientOptions client;
  ClientOverhead client_overhead;
  QueuePairOptions queue_pair;
  VerbsOptions verbs;
  SlotOptions slots;
  SocketOptions socket;
  RetryOptions retry;
  DeviceOptions device;
  std::uint64_t seed = 1;
  bool check = false;  // compare every response with a model of the store
  bool trace = false;  // keep every operation's times

  bool operator==(const Scenario&) const = default;
};

// The CPUs that a side's i-th thread may run on.
template <typename Side>
[[nodiscard]] std::vector<int> cores_of_thread(const Side& side, std::uint32_t i) {
  if (!side.bind_each || side.cores.empty()) return side.cores;
  return {side.cores[i % side.cores.size()]};
}

// The policy the client side waits by.
[[nodiscard]] const CompletionPolicy& client_policy(const Scenario& scenario);
// Whether the side's threads, where they wait, look all the time, rather than sleep until something comes.
[[nodiscard]] bool server_polls(const Scenario& scenario);
[[nodiscard]] bool client_polls(const Scenario& scenario);

// Whether messages may be lost, so that clients repeat requests and the server has to recognise them.
[[nodiscard]] bool loses_messages(Transport transport);

// The largest key and value that a client of this scenario sends, whatever the key distribution.
[[nodiscard]] std::uint32_t largest_key_bytes(const Scenario& scenario);
[[nodiscard]] std::uint32_t largest_value_bytes(const Scenario& scenario);

}  // namespace rkv
