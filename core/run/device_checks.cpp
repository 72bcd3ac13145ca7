#include "core/run/device_checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/message/messages.hpp"

namespace rkv {

void check_against_device(const Scenario& scenario, const Device& device, const std::string& source) {
  check_against_device(scenario, device.device_name(), device.limits(), source);
}

void check_against_device(const Scenario& scenario, std::string_view device, const DeviceLimits& limits,
                          const std::string& source) {
  if (scenario.transport == Transport::tcp) return;
  const QueuePairOptions& options = scenario.queue_pair;
  const MessageFormat format(scenario.message);
  std::string problems;
  const auto refuse = [&](const char* pointer, const std::string& what) {
    problems += fmt::format("\n  {}: {}", pointer, what);
  };
  const std::uint32_t largest = std::max(format.largest_request_bytes(), format.largest_response_bytes());
  if (scenario.transport == Transport::ud && largest > limits.path_mtu_bytes) {
    refuse("/message", fmt::format("messages of up to {} bytes, and UD takes no more than the path MTU of {}",
                                   largest, limits.path_mtu_bytes));
  }
  if (options.inline_bytes > limits.inline_bytes) {
    refuse("/queue_pair/inline_bytes", fmt::format("{} bytes, and {} inline is the device's most",
                                                   options.inline_bytes, limits.inline_bytes));
  }
  if (options.max_sge > limits.max_sge) {
    refuse("/queue_pair/max_sge",
           fmt::format("{}, and {} is the device's most", options.max_sge, limits.max_sge));
  }
  const std::uint32_t most_clients = *std::max_element(scenario.clients.begin(), scenario.clients.end());
  const bool posts_for_all = scenario.transport == Transport::ud &&
                             options.receive_scope == QueuePairOptions::ReceiveScope::per_client;
  const std::uint64_t receives =
      std::uint64_t{options.receive_depth} *
      (posts_for_all ? (most_clients + scenario.server.ud_queue_pairs - 1) / scenario.server.ud_queue_pairs
                     : 1);
  if (receives > limits.queue_depth) {
    refuse("/queue_pair/receive_depth",
           fmt::format("{} receives on one queue pair, and {} is the device's most", receives,
                       limits.queue_depth));
  }
  if (!problems.empty()) {
    throw InputError(fmt::format("{}: the device {} can't do this:{}", source, device, problems));
  }
}

}  // namespace rkv
