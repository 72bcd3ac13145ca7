#include "core/server/worker.hpp"

#include <cstring>
#include <vector>

namespace rkv {
namespace {

void add_work(Work& to, const Work& more) {
  to.entries_walked += more.entries_walked;
  to.bytes_copied += more.bytes_copied;
  to.working_set_bytes = more.working_set_bytes;
  to.keys_formatted += more.keys_formatted;
}

}  // namespace

void WorkerCounts::add(const WorkerCounts& other) {
  served += other.served;
  replays += other.replays;
  ignored += other.ignored;
  rejected += other.rejected;
  broken_sessions += other.broken_sessions;
  add_work(work, other.work);
}

Worker::Worker(Runtime& runtime, ServerExchange& exchange, const MessageFormat& format, Store& store,
               ReplayTable* replays)
    : runtime_(runtime), exchange_(exchange), format_(format), store_(store), replays_(replays) {}

void Worker::run() {
  std::vector<IncomingRequest> requests(exchange_.largest_take());
  for (;;) {
    const Incoming incoming = exchange_.receive(requests);
    for (std::uint32_t i = 0; i < incoming.count; ++i) serve(requests[i]);
    if (incoming.stopped) return;
  }
}

WorkerCounts Worker::counts() const {
  WorkerCounts counts = counts_;
  counts.rejected += exchange_.rejected();
  counts.broken_sessions = exchange_.broken_sessions();
  return counts;
}

void Worker::serve(const IncomingRequest& incoming) {
  const RequestView& request = incoming.request;
  ReplayTable::Answer known;
  if (replays_ != nullptr) {
    if (request.id.slot >= replays_->slots()) {
      ++counts_.rejected;
      return;
    }
    known = replays_->begin(incoming.session, request.id);
    if (known.verdict == ReplayTable::Verdict::ignored) {
      ++counts_.ignored;
      return;
    }
  }
  const std::span<std::byte> response = exchange_.response_buffer(incoming);
  Work work{.requests_served = 1};
  if (format_.fixed()) {  // sent whole, so nothing of an earlier response may be left in it
    std::memset(response.data(), 0, format_.largest_response_bytes());
    work.bytes_copied = format_.largest_response_bytes();
  }
  runtime_.charge(work);  // the store charges its own
  const bool repeated = known.verdict == ReplayTable::Verdict::repeated;
  const bool read_only =
      request.method == Method::get || request.method == Method::locate || request.method == Method::ping;
  Outcome outcome{.code = known.code, .value_bytes = 0};
  if (incoming.error != ParseError::none) {
    outcome.code = ResponseCode::parsing_error;
  } else if (!repeated || read_only) {
    outcome = perform(request, format_.response_value(response), work);
  }
  if (repeated) {
    ++counts_.replays;
  } else {
    ++counts_.served;
    if (replays_ != nullptr) replays_->finish(incoming.session, request.id, outcome.code);
  }
  add_work(counts_.work, work);
  exchange_.respond(incoming,
                    format_.write_response(response, request.id, outcome.code, outcome.value_bytes));
}

Worker::Outcome Worker::perform(const RequestView& request, std::span<std::byte> value_out, Work& work) {
  switch (request.method) {
    case Method::get: {
      const GetResult result = store_.get(request.key, value_out, work);
      return {.code = result.code, .value_bytes = result.value_bytes};
    }
    case Method::locate: {
      const GetResult result = store_.locate(request.key, value_out, work);
      return {.code = result.code, .value_bytes = result.value_bytes};
    }
    case Method::set:
      return {.code = store_.set(request.key, request.value, work), .value_bytes = 0};
    case Method::del:
      return {.code = store_.del(request.key, work), .value_bytes = 0};
    case Method::ping:
      return {.code = ResponseCode::ok, .value_bytes = 0};
    case Method::reset:
      store_.reset();
      return {.code = ResponseCode::ok, .value_bytes = 0};
  }
  return {.code = ResponseCode::parsing_error, .value_bytes = 0};
}

}  // namespace rkv
