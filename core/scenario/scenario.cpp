#include "core/scenario/scenario.hpp"

#include <algorithm>

#include "core/workload/thesis_text.hpp"

namespace rkv {
namespace {

bool polls(Transport transport, const CompletionPolicy& policy) {
  if (transport == Transport::tcp) return false;  // its calls sleep
  return policy.mode != CompletionMode::event && policy.mode != CompletionMode::event_batch;
}

}  // namespace

std::uint32_t SizeDistribution::largest_bytes() const {
  const std::uint32_t listed =
      discrete_bytes.empty() ? 0 : *std::max_element(discrete_bytes.begin(), discrete_bytes.end());
  switch (kind) {
    case Kind::fixed:
      return bytes;
    case Kind::discrete:
      return listed;
    case Kind::generalised_pareto:
      return std::max(listed, max_bytes);
    case Kind::uniform:
    case Kind::normal:
    case Kind::generalised_extreme_value:
      return max_bytes;
  }
  return 0;
}

std::uint32_t SizeDistribution::smallest_bytes() const {
  const bool listed = !discrete_bytes.empty();
  switch (kind) {
    case Kind::fixed:
      return bytes;
    case Kind::discrete:
      return listed ? *std::min_element(discrete_bytes.begin(), discrete_bytes.end()) : 0;
    case Kind::generalised_pareto:
      return listed ? std::min(min_bytes, *std::min_element(discrete_bytes.begin(), discrete_bytes.end()))
                    : min_bytes;
    case Kind::uniform:
    case Kind::normal:
    case Kind::generalised_extreme_value:
      return min_bytes;
  }
  return 0;
}

const CompletionPolicy& client_policy(const Scenario& scenario) {
  return scenario.client_completion ? *scenario.client_completion : scenario.completion;
}

bool server_polls(const Scenario& scenario) {
  return polls(scenario.transport, scenario.completion);
}

bool client_polls(const Scenario& scenario) {
  return polls(scenario.transport, client_policy(scenario));
}

bool loses_messages(Transport transport) {
  return transport == Transport::uc || transport == Transport::ud;
}

std::uint32_t largest_key_bytes(const Scenario& scenario) {
  return scenario.keys.distribution == KeyOptions::Distribution::thesis ? thesis_key_max_bytes
                                                                        : scenario.key_size.largest_bytes();
}

std::uint32_t largest_value_bytes(const Scenario& scenario) {
  return scenario.keys.distribution == KeyOptions::Distribution::thesis ? thesis_value_max_bytes
                                                                        : scenario.value_size.largest_bytes();
}

}  // namespace rkv
