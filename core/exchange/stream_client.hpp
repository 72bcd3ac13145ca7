// Requests and responses over a byte stream (the sockets baseline), client side.
#pragma once

#include <memory>
#include <vector>

#include "core/completion/waiter.hpp"
#include "core/exchange/client_exchange.hpp"

namespace rkv {

class StreamClient final : public ClientExchange {
 public:
  // Connects; `token` proves to the server that this connection belongs to the run.
  StreamClient(const Port& port, const Scenario& scenario, const StopFlag& stop, const StreamAddress& server,
               std::uint64_t token, std::uint32_t client, Instant deadline);

  [[nodiscard]] std::span<std::byte> request_buffer(std::uint32_t slot) override;
  [[nodiscard]] bool send(std::uint32_t slot, std::uint32_t bytes) override;
  Received receive(std::span<ResponseView> out, Instant deadline) override;
  [[nodiscard]] std::uint32_t largest_take() const override { return window_; }
  [[nodiscard]] std::uint64_t malformed() const override { return malformed_; }
  [[nodiscard]] std::string_view broken_reason() const override { return broken_; }

 private:
  // The whole responses that have arrived.
  std::uint32_t parse(std::span<ResponseView> out);

  const MessageFormat format_;
  const std::uint32_t window_;
  std::vector<std::byte> requests_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<WaitSet> set_;
  Waiter waiter_;
  std::size_t handed_out_bytes_ = 0;
  std::uint64_t malformed_ = 0;
  std::string_view broken_;
};

}  // namespace rkv
