// One control connection: JSON messages over a TCP socket, each behind its length (4 bytes, little-endian).
// Carries the scenario, queue-pair data, the start and the results between rkv-real's processes; the studied
// traffic never goes over it.
//
// What the peer sends is untrusted: frames are bounded, text is parsed strictly, nothing is believed without
// a check. A peer whose host is gone is noticed by keep-alive probes within half a minute. Not thread-safe.
// Errors are rkv::Error naming the peer.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "backends/verbs/port/file_descriptor.hpp"

namespace rkv::control {

using Clock = std::chrono::steady_clock;
using verbs::FileDescriptor;

// Both ends must speak the same: raised with every change of messages, requests or responses.
inline constexpr int protocol_version = 5;
// A result of 16384 clients with a full histogram stays well below this.
inline constexpr std::uint32_t largest_frame_bytes = 16U << 20;

// A host and a port as a person writes them: "host", "host:port", "[v6]:port".
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};
// Throws rkv::InputError. `option` names it in the message.
HostPort parse_host_port(const std::string& text, std::uint16_t default_port, const std::string& option);

class Connection {
 public:
  Connection(FileDescriptor socket, std::string peer) : socket_(std::move(socket)), peer_(std::move(peer)) {}

  [[nodiscard]] const std::string& peer() const { return peer_; }  // for messages to a person
  [[nodiscard]] std::string peer_host() const;                     // its address, numeric
  [[nodiscard]] int fd() const { return socket_.get(); }
  void send(const nlohmann::json& message);
  // The next message, or nothing when the deadline passed or `wake_fd` became readable first.
  std::optional<nlohmann::json> receive(Clock::time_point deadline, int wake_fd = -1);

 private:
  // A whole message in what was read so far.
  std::optional<nlohmann::json> take_message();

  FileDescriptor socket_;
  std::string peer_;
  std::vector<char> read_;
};

class Listener {
 public:
  // Throws rkv::Error with address and errno (a port in use says so).
  explicit Listener(const HostPort& address);
  [[nodiscard]] const std::string& host() const { return host_; }  // numeric
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] int fd() const { return socket_.get(); }
  // The next connection, or nothing when the deadline passed or `wake_fd` became readable first.
  std::optional<Connection> accept(Clock::time_point deadline, int wake_fd);

 private:
  FileDescriptor socket_;
  std::string host_;
  std::uint16_t port_ = 0;
};

// Throws rkv::Error when there is no server at this address, or `wake_fd` became readable first.
Connection dial(const HostPort& address, Clock::time_point deadline, int wake_fd = -1);

}  // namespace rkv::control
