// How a client's requests travel to the server and the responses back: one interface, one file an exchange
// pattern. A client has `window` slots, each with at most one request under way.
//
// Belongs to one client thread. send() and receive() are the data path: they do not throw, and allocate
// nothing unless they make a connection anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/exchange/direct_get_counts.hpp"
#include "core/message/messages.hpp"
#include "core/port/wait.hpp"

namespace rkv {

// Why receive() returned; `broken` means that the connection is gone for good. `reconnected`: it was lost,
// and there is another one, over which nothing has been sent yet. Every request under way is sent again.
enum class ReceiveOutcome : std::uint8_t { responses, deadline, stopped, reconnected, broken };

struct Received {
  ReceiveOutcome outcome = ReceiveOutcome::stopped;
  std::uint32_t count = 0;
};

class ClientExchange {
 public:
  virtual ~ClientExchange() = default;

  // Where this slot's request is written. Keep it as it is while the request is under way: it may be sent
  // again. At least the format's largest request.
  [[nodiscard]] virtual std::span<std::byte> request_buffer(std::uint32_t slot) = 0;
  // Sends what lies in the slot's buffer, now or together with others: by receive() at the latest. False when
  // the connection is gone or the stop flag was raised while a send's completion was awaited. A connection
  // that can be made anew is not gone: receive() makes it.
  [[nodiscard]] virtual bool send(std::uint32_t slot, std::uint32_t bytes) = 0;
  // Waits for responses by the client's completion policy. Their values are valid until the next receive().
  // Messages that are not responses of ours are counted in malformed() and dropped.
  virtual Received receive(std::span<ResponseView> out, Instant deadline) = 0;
  // The most responses that one receive() gives.
  [[nodiscard]] virtual std::uint32_t largest_take() const = 0;
  [[nodiscard]] virtual std::uint64_t malformed() const = 0;
  [[nodiscard]] virtual DirectGetCounts direct_gets() const { return {}; }
  // Why the connection is gone, for the report. Empty while it is not.
  [[nodiscard]] virtual std::string_view broken_reason() const = 0;
};

}  // namespace rkv
