// What rkv-real's processes say to each other on the control connection, in order:
//
//   client                                server
//   hello: versions, scenario | join  ->
//                                      <- accepted: process, processes, scenario    (when all have joined)
//   point: clients                    ->                                            (the leader only)
//                                      <- point: clients, first, count, offers
//   ready: endpoints                  ->
//                                      <- start
//   reconnect: client, endpoint       ->                                            (as often as it takes,
//                                      <- disconnected | reconnected | not_reconnected   reconnections.hpp)
//                                      <- stop: reason              (another process ended early)
//   result                            ->
//                                      <- result: merged, with the server's side
//   done                              ->                                            (the leader only)
//
// Offers and endpoints: one for each connection of the process (core/run/sides.hpp), in order.
// Either side may say `failed` with a reason at any time; the run then ends.
// Every function checks what it reads and throws rkv::Error naming the field.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/port/device.hpp"
#include "core/run/sides.hpp"

namespace rkv::control {

// Versions and sizes that both ends must have in common.
[[nodiscard]] nlohmann::json common_ground();
// Throws rkv::Error saying what differs.
void check_common_ground(const nlohmann::json& hello, const std::string& peer);

[[nodiscard]] nlohmann::json to_json(const Endpoint& endpoint);
[[nodiscard]] Endpoint endpoint_from_json(const nlohmann::json& json);
[[nodiscard]] nlohmann::json to_json(const ServerOffer& offer);
// The address's host is left empty: a client uses the one at which it reached the server.
[[nodiscard]] ServerOffer offer_from_json(const nlohmann::json& json);

// What offers of so many connections, with so many queue pairs in all, take in a message at most.
[[nodiscard]] std::uint64_t largest_offers_bytes(std::uint64_t connections, std::uint64_t queue_pairs);

// A number in [least, most] under this name, or rkv::Error.
[[nodiscard]] std::uint64_t number(const nlohmann::json& message, std::string_view name, std::uint64_t least,
                                   std::uint64_t most);
// The member under this name, or rkv::Error.
[[nodiscard]] const nlohmann::json& member(const nlohmann::json& message, std::string_view name);
// A list of exactly `size` under this name, or rkv::Error.
[[nodiscard]] const nlohmann::json& list(const nlohmann::json& message, std::string_view name,
                                         std::size_t size);
// What a peer wrote, fit for a terminal: printable ASCII and line feeds, at most `bytes` of it.
[[nodiscard]] std::string printable(std::string_view text, std::size_t bytes);
// The longest reason for ending that is shown.
constexpr std::size_t reason_bytes = 1000;
// Throws rkv::Error with the reason if this is a `failed`.
void throw_if_failed(const nlohmann::json& message, const std::string& peer);

}  // namespace rkv::control
