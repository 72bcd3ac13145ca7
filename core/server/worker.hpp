// The server loop: take requests, do them on the store, answer. One object a worker thread.
#pragma once

#include <cstdint>

#include "core/exchange/server_exchange.hpp"
#include "core/port/runtime.hpp"
#include "core/server/replay.hpp"
#include "core/store/store.hpp"

namespace rkv {

struct WorkerCounts {
  std::uint64_t served = 0;
  std::uint64_t replays = 0;   // repeated requests that were answered from memory
  std::uint64_t ignored = 0;   // repeated requests that got no answer of their own
  std::uint64_t rejected = 0;  // messages that were nobody's request
  std::uint64_t broken_sessions = 0;
  Work work;

  void add(const WorkerCounts& other);
};

class Worker {
 public:
  // All of them outlive the worker. replays: null where no request comes twice.
  Worker(Runtime& runtime, ServerExchange& exchange, const MessageFormat& format, Store& store,
         ReplayTable* replays);

  // Serves until the exchange's stop flag is raised.
  void run();
  // After run().
  [[nodiscard]] WorkerCounts counts() const;

 private:
  struct Outcome {
    ResponseCode code;
    std::uint32_t value_bytes;
  };
  void serve(const IncomingRequest& incoming);
  [[nodiscard]] Outcome perform(const RequestView& request, std::span<std::byte> value_out, Work& work);

  Runtime& runtime_;
  ServerExchange& exchange_;
  const MessageFormat format_;
  Store& store_;
  ReplayTable* replays_;
  WorkerCounts counts_;
};

}  // namespace rkv
