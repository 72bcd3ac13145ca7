#include "core/scenario/fields.hpp"

#include <chrono>
#include <cmath>
#include <ratio>

#include "core/document/fields.hpp"
#include "core/scenario/names.hpp"

namespace rkv {
namespace {

using nlohmann::json;
using Pointer = json::json_pointer;
using Nanoseconds = std::chrono::nanoseconds;

class Reader : public FieldReader {
 public:
  using FieldReader::FieldReader;

  template <typename Unit>
  void duration(const Pointer& at, Nanoseconds& value) {
    if (const json* const given = find(at)) {
      const std::chrono::duration<double, Unit> in_units(given->get<double>());
      value = Nanoseconds(std::llround(std::chrono::duration<double, std::nano>(in_units).count()));
    }
  }

  template <typename T, typename Function>
  void optional(const Pointer& at, std::optional<T>& value, Function&& each) {
    if (find(at) != nullptr) {
      value.emplace();
      each(*value);
    }
  }

  void clients(const Pointer& at, std::vector<std::uint32_t>& value) {
    if (const json* const given = find(at)) {
      value = given->is_array() ? given->get<std::vector<std::uint32_t>>()
                                : std::vector<std::uint32_t>{given->get<std::uint32_t>()};
    }
  }
};

class Writer : public FieldWriter {
 public:
  using FieldWriter::FieldWriter;

  template <typename Unit>
  void duration(const Pointer& at, const Nanoseconds& value) {
    // Up to a week, which the schema allows, a double keeps every nanosecond in any of the units.
    const double in_units = std::chrono::duration<double, Unit>(value).count();
    if (std::trunc(in_units) == in_units) {
      place(at) = static_cast<std::int64_t>(in_units);
    } else {
      place(at) = in_units;
    }
  }

  template <typename T, typename Function>
  void optional(const Pointer&, const std::optional<T>& value, Function&& each) {
    if (value) {
      each(*value);
    }
  }

  void clients(const Pointer& at, const std::vector<std::uint32_t>& value) { place(at) = value; }
};

template <typename Archive, typename Policy>
void completion_fields(Archive& archive, const Pointer& at, Policy& policy) {
  archive.field(at / "mode", policy.mode);
  archive.field(at / "batch", policy.batch);
  archive.field(at / "empty_polls", policy.empty_polls);
  archive.template duration<std::micro>(at / "spin_us", policy.spin);
  archive.field(at / "await_event", policy.await_event);
}

template <typename Archive, typename Sizes>
void size_fields(Archive& archive, const Pointer& at, Sizes& sizes) {
  archive.field(at / "kind", sizes.kind);
  archive.field(at / "bytes", sizes.bytes);
  archive.field(at / "min_bytes", sizes.min_bytes);
  archive.field(at / "max_bytes", sizes.max_bytes);
  archive.field(at / "mean_bytes", sizes.mean_bytes);
  archive.field(at / "stddev_bytes", sizes.stddev_bytes);
  archive.field(at / "location", sizes.location);
  archive.field(at / "scale", sizes.scale);
  archive.field(at / "shape", sizes.shape);
  archive.field(at / "discrete_bytes", sizes.discrete_bytes);
  archive.field(at / "discrete_weights", sizes.discrete_weights);
}

template <typename Archive, typename LoadValues>
void load_fields(Archive& archive, LoadValues& load) {
  using std::micro;
  using std::milli;
  using seconds = std::ratio<1>;
  archive.field("/load/total_operations"_json_pointer, load.total_operations);
  archive.template duration<seconds>("/load/duration_s"_json_pointer, load.duration);
  archive.field("/load/warm_up_operations"_json_pointer, load.warm_up_operations);
  archive.template duration<seconds>("/load/warm_up_s"_json_pointer, load.warm_up);
  archive.template duration<milli>("/load/connect_pause_ms"_json_pointer, load.connect_pause);
  archive.template duration<milli>("/load/start_stagger_ms"_json_pointer, load.start_stagger);
  archive.field("/load/stay_until_all_end"_json_pointer, load.stay_until_all_end);
  archive.template duration<micro>("/load/think_time_us"_json_pointer, load.think_time);
  archive.field("/load/turns/clients"_json_pointer, load.turns.clients);
  archive.template duration<micro>("/load/turns/length_us"_json_pointer, load.turns.length);
  archive.template duration<micro>("/load/turns/overlap_us"_json_pointer, load.turns.overlap);
  archive.field("/load/window"_json_pointer, load.window);
  archive.field("/load/arrivals/kind"_json_pointer, load.arrivals.kind);
  archive.field("/load/arrivals/rate_ops_s"_json_pointer, load.arrivals.rate_ops_s);
}

template <typename Archive, typename Values>
void workload_fields(Archive& archive, Values& scenario) {
  archive.field("/operations/get"_json_pointer, scenario.operations.get);
  archive.field("/operations/set"_json_pointer, scenario.operations.set);
  archive.field("/operations/del"_json_pointer, scenario.operations.del);
  archive.field("/operations/ping"_json_pointer, scenario.operations.ping);
  archive.field("/operations/read_modify_write"_json_pointer, scenario.operations.read_modify_write);
  archive.field("/keys/distribution"_json_pointer, scenario.keys.distribution);
  archive.field("/keys/scope"_json_pointer, scenario.keys.scope);
  archive.field("/keys/count"_json_pointer, scenario.keys.count);
  archive.field("/keys/theta"_json_pointer, scenario.keys.theta);
  archive.field("/keys/preload"_json_pointer, scenario.keys.preload);
  size_fields(archive, "/key_size"_json_pointer, scenario.key_size);
  size_fields(archive, "/value_size"_json_pointer, scenario.value_size);
  archive.field("/message/format"_json_pointer, scenario.message.format);
  archive.field("/message/key_capacity_bytes"_json_pointer, scenario.message.key_capacity_bytes);
  archive.field("/message/value_capacity_bytes"_json_pointer, scenario.message.value_capacity_bytes);
}

template <typename Archive, typename Values>
void machine_fields(Archive& archive, Values& scenario) {
  archive.field("/store/kind"_json_pointer, scenario.store.kind);
  archive.field("/store/buckets"_json_pointer, scenario.store.buckets);
  archive.field("/store/client_pointers"_json_pointer, scenario.store.client_pointers);
  archive.field("/server/workers"_json_pointer, scenario.server.workers);
  archive.field("/server/ud_queue_pairs"_json_pointer, scenario.server.ud_queue_pairs);
  archive.field("/server/ud_receive_lock"_json_pointer, scenario.server.ud_receive_lock);
  archive.field("/server/cores"_json_pointer, scenario.server.cores);
  archive.field("/server/bind_each"_json_pointer, scenario.server.bind_each);
  archive.field("/client/cores"_json_pointer, scenario.client.cores);
  archive.field("/client/bind_each"_json_pointer, scenario.client.bind_each);
  archive.field("/client_overhead"_json_pointer, scenario.client_overhead.kind);
  archive.field("/socket/server_wait"_json_pointer, scenario.socket.server_wait);
}

template <typename Archive, typename Values>
void verbs_fields(Archive& archive, Values& scenario) {
  archive.field("/queue_pair/per_client"_json_pointer, scenario.queue_pair.per_client);
  archive.field("/queue_pair/receive_depth"_json_pointer, scenario.queue_pair.receive_depth);
  archive.field("/queue_pair/receive_scope"_json_pointer, scenario.queue_pair.receive_scope);
  archive.field("/queue_pair/shared_receive_queue"_json_pointer, scenario.queue_pair.shared_receive_queue);
  archive.field("/queue_pair/allow_receive_overrun"_json_pointer, scenario.queue_pair.allow_receive_overrun);
  archive.field("/queue_pair/inline_bytes"_json_pointer, scenario.queue_pair.inline_bytes);
  archive.field("/queue_pair/signal_interval"_json_pointer, scenario.queue_pair.signal_interval);
  archive.field("/queue_pair/doorbell_batch"_json_pointer, scenario.queue_pair.doorbell_batch);
  archive.field("/queue_pair/receives_after_drain"_json_pointer, scenario.queue_pair.receives_after_drain);
  archive.field("/queue_pair/receive_batch"_json_pointer, scenario.queue_pair.receive_batch);
  archive.field("/queue_pair/await_send_completion"_json_pointer, scenario.queue_pair.await_send_completion);
  archive.field("/queue_pair/max_sge"_json_pointer, scenario.queue_pair.max_sge);
  archive.field("/verbs/operation"_json_pointer, scenario.verbs.operation);
  archive.field("/verbs/bytes"_json_pointer, scenario.verbs.bytes);
  archive.field("/verbs/queue_pairs"_json_pointer, scenario.verbs.queue_pairs);
  archive.field("/verbs/clients_a_queue_pair"_json_pointer, scenario.verbs.clients_a_queue_pair);
  archive.field("/verbs/rounds"_json_pointer, scenario.verbs.rounds);
  archive.field("/verbs/both_ways"_json_pointer, scenario.verbs.both_ways);
  archive.field("/verbs/watch"_json_pointer, scenario.verbs.watch);
  archive.field("/verbs/memory_bytes"_json_pointer, scenario.verbs.memory_bytes);
  archive.field("/verbs/alignment_bytes"_json_pointer, scenario.verbs.alignment_bytes);
  archive.template duration<std::micro>("/slots/read_pause_us"_json_pointer, scenario.slots.read_pause);
  archive.field("/slots/immediate"_json_pointer, scenario.slots.immediate);
  archive.template duration<std::milli>("/retry/timeout_ms"_json_pointer, scenario.retry.timeout);
  archive.field("/retry/retries"_json_pointer, scenario.retry.retries);
  archive.field("/device/name"_json_pointer, scenario.device.name);
  archive.field("/device/port"_json_pointer, scenario.device.port);
  archive.optional("/device/gid_index"_json_pointer, scenario.device.gid_index,
                   [&](auto& index) { archive.field("/device/gid_index"_json_pointer, index); });
  archive.optional("/device/doorbell_registers"_json_pointer, scenario.device.doorbell_registers,
                   [&](auto& count) { archive.field("/device/doorbell_registers"_json_pointer, count); });
}

template <typename Archive, typename Values>
void all_fields(Archive& archive, Values& scenario) {
  archive.field("/name"_json_pointer, scenario.name);
  archive.field("/description"_json_pointer, scenario.description);
  archive.field("/transport"_json_pointer, scenario.transport);
  archive.field("/workload"_json_pointer, scenario.workload);
  archive.field("/exchange"_json_pointer, scenario.exchange);
  completion_fields(archive, "/completion"_json_pointer, scenario.completion);
  archive.field("/completion/shared_wait"_json_pointer, scenario.completion.shared_wait);
  archive.optional("/client_completion"_json_pointer, scenario.client_completion, [&](auto& policy) {
    completion_fields(archive, "/client_completion"_json_pointer, policy);
  });
  archive.clients("/clients"_json_pointer, scenario.clients);
  load_fields(archive, scenario.load);
  workload_fields(archive, scenario);
  machine_fields(archive, scenario);
  verbs_fields(archive, scenario);
  archive.field("/seed"_json_pointer, scenario.seed);
  archive.field("/check"_json_pointer, scenario.check);
  archive.field("/trace"_json_pointer, scenario.trace);
}

}  // namespace

Scenario read_fields(const nlohmann::json& document) {
  Scenario scenario;
  Reader reader(document);
  all_fields(reader, scenario);
  if (!document.contains("exchange")) {
    scenario.exchange = scenario.transport == Transport::tcp ? Exchange::socket_socket : Exchange::send_send;
  }
  return scenario;
}

nlohmann::json write_fields(const Scenario& scenario) {
  json document = json::object();
  Writer writer(document);
  all_fields(writer, scenario);
  return document;
}

}  // namespace rkv
