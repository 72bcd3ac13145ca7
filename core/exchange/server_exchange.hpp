// The server's end of an exchange pattern, one object a worker thread.
//
// receive() and the functions that answer are the data path: they do not allocate or throw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/message/messages.hpp"

namespace rkv {

struct IncomingRequest {
  std::uint32_t session = 0;  // the client that sent it, by its index in the server's sessions
  std::uint32_t slot = 0;     // over slots of memory: which of the client's it came in
  std::uint32_t link = 0;     // by SEND: over which of the client's queue pairs
  ParseError error = ParseError::none;
  RequestView request;  // spans valid until the next receive()
};

struct Incoming {
  bool stopped = false;
  std::uint32_t count = 0;
};

class ServerExchange {
 public:
  virtual ~ServerExchange() = default;

  // Waits for requests by the server's completion policy. Receives are posted anew before this returns, but
  // for fewer than receive_batch of a queue pair; with receives_after_drain, before it waits.
  // Only requests whose session is certain are handed out; the others are counted in rejected().
  virtual Incoming receive(std::span<IncomingRequest> out) = 0;
  // A buffer for the response, at least the format's largest. Valid until respond() or the next call.
  [[nodiscard]] virtual std::span<std::byte> response_buffer(const IncomingRequest& request) = 0;
  // Sends the response in the buffer last given for this request, now or together with others: by the next
  // receive() at the latest, which is called unless receive() said `stopped`.
  virtual void respond(const IncomingRequest& request, std::uint32_t bytes) = 0;
  [[nodiscard]] virtual std::uint32_t largest_take() const = 0;

  [[nodiscard]] virtual std::uint64_t rejected() const = 0;         // messages that are nobody's request
  [[nodiscard]] virtual std::uint64_t broken_sessions() const = 0;  // whose connection failed or closed
};

}  // namespace rkv
