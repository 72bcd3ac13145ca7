#include "backends/verbs/control/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "backends/verbs/control/connection.hpp"
#include "core/error.hpp"

namespace rkv::control {
namespace {

constexpr std::uint64_t most_32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t reason_shown = 4000;
constexpr std::size_t value_shown = 40;

nlohmann::json to_json(const RemoteMemory& memory) {
  return {{"address", memory.address}, {"key", memory.key}};
}

RemoteMemory memory_from_json(const nlohmann::json& json) {
  return {.address = number(json, "address", 0, std::numeric_limits<std::uint64_t>::max()),
          .key = static_cast<std::uint32_t>(number(json, "key", 0, most_32))};
}

}  // namespace

nlohmann::json common_ground() {
  return {{"protocol", protocol_version},
          {"request_header_bytes", request_header_bytes},
          {"response_header_bytes", response_header_bytes}};
}

void check_common_ground(const nlohmann::json& hello, const std::string& peer) {
  const nlohmann::json ours = common_ground();
  const nlohmann::json& theirs = member(hello, "common_ground");
  for (const auto& [name, value] : ours.items()) {
    if (!theirs.is_object() || !theirs.contains(name) || theirs[name] != value) {
      throw Error(fmt::format(
          "{} speaks another version: {} is {} here and {} there; use the same rkv-real on both", peer, name,
          value.dump(),
          theirs.is_object() && theirs.contains(name) ? printable(theirs[name].dump(), value_shown)
                                                      : "missing"));
    }
  }
}

const nlohmann::json& member(const nlohmann::json& message, std::string_view name) {
  const auto at = message.find(name);
  if (at == message.end()) throw Error(fmt::format("a control message without \"{}\"", name));
  return *at;
}

std::uint64_t number(const nlohmann::json& message, std::string_view name, std::uint64_t least,
                     std::uint64_t most) {
  const nlohmann::json& value = member(message, name);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() < least ||
      value.get<std::uint64_t>() > most) {
    throw Error(fmt::format("a control message with \"{}\" outside {} to {}", name, least, most));
  }
  return value.get<std::uint64_t>();
}

const nlohmann::json& list(const nlohmann::json& message, std::string_view name, std::size_t size) {
  const nlohmann::json& value = member(message, name);
  if (!value.is_array() || value.size() != size) {
    throw Error(fmt::format("a control message with \"{}\" that is no list of {}", name, size));
  }
  return value;
}

std::string printable(std::string_view text, std::size_t bytes) {
  std::string shown(text.substr(0, bytes));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c != '\n' && (c < ' ' || c > '~'); }, '?');
  return shown;
}

void throw_if_failed(const nlohmann::json& message, const std::string& peer) {
  const auto failed = message.find("failed");
  if (failed == message.end()) return;
  const std::string reason = failed->is_string() ? failed->get<std::string>() : "no reason given";
  throw Error(fmt::format("{}: {}", peer, printable(reason, reason_shown)));
}

nlohmann::json to_json(const Endpoint& endpoint) {
  nlohmann::json more = nlohmann::json::array();
  for (const QueuePairName& another : endpoint.more) {
    more.push_back({{"queue_pair", another.queue_pair}, {"packet_sequence", another.packet_sequence}});
  }
  return {{"queue_pair", endpoint.queue_pair},
          {"packet_sequence", endpoint.packet_sequence},
          {"qkey", endpoint.qkey},
          {"lid", endpoint.lid},
          {"gid", endpoint.gid},
          {"path_mtu_bytes", endpoint.path_mtu_bytes},
          {"datagram_queue_pair", endpoint.datagram_queue_pair},
          {"datagram_qkey", endpoint.datagram_qkey},
          {"requests", to_json(endpoint.requests)},
          {"responses", to_json(endpoint.responses)},
          {"items", to_json(endpoint.items)},
          {"memory", to_json(endpoint.memory)},
          {"more", std::move(more)}};
}

Endpoint endpoint_from_json(const nlohmann::json& json) {
  const auto number_24 = [](const nlohmann::json& from, std::string_view name) {
    return static_cast<std::uint32_t>(number(from, name, 0, (1U << 24) - 1));
  };
  constexpr std::size_t most_more = 65535;  // beside the first, as a scenario allows
  Endpoint endpoint;
  endpoint.queue_pair = number_24(json, "queue_pair");
  endpoint.packet_sequence = number_24(json, "packet_sequence");
  endpoint.qkey = static_cast<std::uint32_t>(number(json, "qkey", 0, most_32));
  endpoint.lid = static_cast<std::uint16_t>(number(json, "lid", 0, 0xffff));
  endpoint.path_mtu_bytes = static_cast<std::uint32_t>(number(json, "path_mtu_bytes", 256, 65536));
  endpoint.datagram_queue_pair = number_24(json, "datagram_queue_pair");
  endpoint.datagram_qkey = static_cast<std::uint32_t>(number(json, "datagram_qkey", 0, most_32));
  endpoint.requests = memory_from_json(member(json, "requests"));
  endpoint.responses = memory_from_json(member(json, "responses"));
  endpoint.items = memory_from_json(member(json, "items"));
  endpoint.memory = memory_from_json(member(json, "memory"));
  const nlohmann::json& more = member(json, "more");
  if (!more.is_array() || more.size() > most_more) {
    throw Error("a control message with \"more\" that is no list of queue pairs");
  }
  for (const nlohmann::json& another : more) {
    endpoint.more.push_back({.queue_pair = number_24(another, "queue_pair"),
                             .packet_sequence = number_24(another, "packet_sequence")});
  }
  const nlohmann::json& gid = list(json, "gid", endpoint.gid.size());
  for (std::size_t i = 0; i < endpoint.gid.size(); ++i) {
    if (!gid[i].is_number_unsigned() || gid[i].get<std::uint64_t>() > 0xff) {
      throw Error("a control message with a GID that is not 16 bytes");
    }
    endpoint.gid[i] = gid[i].get<std::uint8_t>();
  }
  return endpoint;
}

nlohmann::json to_json(const ServerOffer& offer) {
  return {{"endpoint", to_json(offer.endpoint)}, {"port", offer.address.port}, {"token", offer.token}};
}

ServerOffer offer_from_json(const nlohmann::json& json) {
  ServerOffer offer;
  offer.address.port = static_cast<std::uint16_t>(number(json, "port", 0, 0xffff));
  offer.token = number(json, "token", 0, std::numeric_limits<std::uint64_t>::max());
  // A port says that the offer is a socket's.
  if (offer.address.port == 0) offer.endpoint = endpoint_from_json(member(json, "endpoint"));
  return offer;
}

std::uint64_t largest_offers_bytes(std::uint64_t connections, std::uint64_t queue_pairs) {
  constexpr std::uint64_t offer_bytes = 700;
  constexpr std::uint64_t name_bytes = 52;  // of a queue pair beside the first
  constexpr std::uint64_t frame_bytes = 100;
  return frame_bytes + connections * offer_bytes + queue_pairs * name_bytes;
}

}  // namespace rkv::control
