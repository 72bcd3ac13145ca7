// Where the clients of a process, which have threads of their own, meet the thread of its control connection,
// which carries their reconnections (reconnections.hpp has the messages). Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "core/port/device.hpp"
#include "core/port/runtime.hpp"

namespace rkv::control {

class ReconnectionDesk {
 public:
  struct Asked {
    std::uint32_t index = 0;  // of the client in its process
    Endpoint own;
  };

  // A client's thread: waits for the server's endpoint; nothing when it refuses or the flag is raised.
  std::optional<Endpoint> ask(std::uint32_t index, const Endpoint& own, const StopFlag& stop);

  // The connection's thread: what was asked since the last time.
  [[nodiscard]] std::vector<Asked> take_asked();
  // Endpoint: none for a refusal. False when this client has not asked.
  [[nodiscard]] bool answer(std::uint32_t index, const std::optional<Endpoint>& server);

 private:
  struct Request {
    bool answered = false;
    std::optional<Endpoint> server;
  };

  std::mutex mutex_;
  std::condition_variable answered_;
  std::vector<Asked> asked_;
  std::map<std::uint32_t, Request> requests_;  // by index, until the client has its answer
};

}  // namespace rkv::control
