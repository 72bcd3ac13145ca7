// Connecting a client anew whose queue pair, or the server's for it, exceeded its retries. RC with SEND-SEND,
// where each worker has its queue pairs and their receives for itself; all others stay broken.
//
// Both sides fail what is left of the old connection, take every completion of it, reset their queue pairs
// and exchange endpoints with new first PSNs: the server connects its queue pair first, and the client, which
// has its answer then, sends all requests again that are under way. The server knows what it has done of them
// (core/server/replay.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/port/device.hpp"

namespace rkv {

// Whether a point's clients can be connected anew, if its backend carries their endpoints.
[[nodiscard]] bool can_reconnect(const Scenario& scenario, std::uint32_t clients, std::uint32_t workers);

// Whether a failed request tells of a lost connection and nothing else that was wrong.
[[nodiscard]] constexpr bool tells_of_loss(CompletionStatus status) {
  return status == CompletionStatus::peer_unreachable || status == CompletionStatus::flushed;
}

// Carries a client's new endpoint to its server and waits for the server's; nothing when the server refuses
// or the client is to stop. Called by the client's thread. Empty: this backend connects nobody anew.
using Reconnect = std::function<std::optional<Endpoint>(const Endpoint& own)>;

// The server's end, for the thread that connected its clients. Workers are at work meanwhile.
class ServerLinks {
 public:
  enum class State : std::uint8_t {
    connected,  // or failed, and its worker has not noticed or taken all completions yet
    down,       // can be connected anew
    broken,     // failed for another reason than loss: stays so
  };

  virtual ~ServerLinks() = default;
  [[nodiscard]] virtual State state(std::uint32_t client) const = 0;
  // Takes a connected one down, which its worker does soon.
  virtual void fail(std::uint32_t client) = 0;
  // Of one that is down: connects it to the client's new endpoint and gives the one to be reached at. Throws
  // rkv::Error when the device refuses.
  [[nodiscard]] virtual Endpoint connect_anew(std::uint32_t client, const Endpoint& peer) = 0;
};

// Told by a worker when a link's state has become down or broken.
using OnLinkDown = std::function<void()>;

}  // namespace rkv
