#include "backends/verbs/control/run_client.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/verbs/control/messages.hpp"
#include "backends/verbs/port/clock.hpp"
#include "core/report/exchange.hpp"
#include "core/scenario/load.hpp"

namespace rkv::control {
namespace {

constexpr std::chrono::seconds server_patience{180};   // a large store takes time to fill
constexpr std::chrono::hours gathering_patience{24};   // other processes join when a person starts them
constexpr std::chrono::seconds last_word_patience{2};  // it is on its way, or nobody sends one
constexpr std::chrono::milliseconds progress_interval{100};
constexpr std::uint32_t processes_max = 4096;
constexpr const char* interrupted = "interrupted";

// What a server says while clients run may come when they have ended.
bool may_cross_result(const nlohmann::json& message) {
  return message.contains("stop") || message.contains("disconnected") || message.contains("reconnected") ||
         message.contains("not_reconnected");
}

}  // namespace

RunClient::RunClient(Connection connection, const StopSignal& interrupt, OnProgress on_progress)
    : connection_(std::move(connection)), interrupt_(interrupt), on_progress_(std::move(on_progress)) {}

nlohmann::json RunClient::next_message(std::chrono::seconds patience, const char* awaited) {
  auto message = connection_.receive(Clock::now() + patience, interrupt_.fd());
  if (!message) {
    throw Error(interrupt_.raised() ? fmt::format("interrupted while waiting for {}", awaited)
                                    : fmt::format("{} sent no {} within {} s", connection_.peer(), awaited,
                                                  patience.count()));
  }
  throw_if_failed(*message, connection_.peer());
  return std::move(*message);
}

std::string RunClient::reason_of_server(const Error& otherwise) {
  const Clock::time_point deadline = Clock::now() + last_word_patience;
  try {
    while (const auto message = connection_.receive(deadline, interrupt_.fd())) {
      throw_if_failed(*message, connection_.peer());
    }
  } catch (const Error& error) {
    return error.what();
  }
  return otherwise.what();
}

nlohmann::json RunClient::hello(nlohmann::json message) {
  message["common_ground"] = common_ground();
  connection_.send(message);
  const nlohmann::json answer = next_message(gathering_patience, "acceptance");
  const nlohmann::json& accepted = member(answer, "accepted");
  process_ = static_cast<std::uint32_t>(number(accepted, "process", 0, processes_max - 1));
  processes_ = static_cast<std::uint32_t>(number(accepted, "processes", process_ + 1, processes_max));
  return accepted;
}

void RunClient::lead(const Scenario& scenario, std::uint32_t processes) {
  hello({{"scenario", rkv::to_json(scenario)}, {"processes", processes}});
}

Scenario RunClient::join() {
  const nlohmann::json accepted = hello({{"join", true}});
  return parse_scenario(member(accepted, "scenario").dump(), "the scenario from " + connection_.peer());
}

PointResult RunClient::run_point(const Port& port, const Scenario& scenario, std::uint32_t clients) {
  traces_.clear();
  connection_.send({{"point", clients}});
  return take_part(port, scenario, clients, clients, next_message(server_patience, "offer"));
}

void RunClient::done() {
  connection_.send({{"done", true}});
}

std::optional<PointResult> RunClient::follow_point(const Port& port, const Scenario& scenario) {
  const nlohmann::json message = next_message(gathering_patience, "next point");
  if (message.contains("done")) return std::nullopt;
  const std::uint32_t most = *std::max_element(scenario.clients.begin(), scenario.clients.end());
  return take_part(port, scenario, processes_, most, message);
}

PointResult RunClient::take_part(const Port& port, const Scenario& scenario, std::uint32_t least_clients,
                                 std::uint32_t most_clients, const nlohmann::json& message) {
  const nlohmann::json& asked = member(message, "point");
  const auto clients = static_cast<std::uint32_t>(number(asked, "clients", least_clients, most_clients));
  const ClientShare share = client_share(clients, process_, processes_);
  const bool tcp = scenario.transport == Transport::tcp;
  const Instant connect_deadline = port.runtime->now() + server_patience;

  ReconnectionDesk desk;
  const auto point = make_client_side(
      port, scenario, share, [&desk](std::uint32_t connection, const Endpoint& own, const StopFlag& stop) {
        return desk.ask(connection, own, stop);
      });
  const nlohmann::json& offers = list(asked, "offers", point->connections());
  try {
    nlohmann::json endpoints = nlohmann::json::array();
    for (std::uint32_t i = 0; i < point->connections(); ++i) {
      ServerOffer offer = offer_from_json(offers[i]);
      offer.address.host = connection_.peer_host();
      point->connect(i, offer, connect_deadline);
      if (!tcp) endpoints.push_back(to_json(point->endpoint(i)));
    }
    connection_.send({{"ready", std::move(endpoints)}});
  } catch (const Error& error) {
    throw Error(reason_of_server(error));
  }
  static_cast<void>(member(next_message(server_patience, "start"), "start"));

  const Instant start = port.runtime->now();
  const Instant epoch = verbs::unix_epoch();
  point->start(start);
  const Watched watched = watch(*point, share, desk);
  PointResult result = point->collect(epoch);
  if (!watched.early.empty()) result.partial_reason = watched.early;
  traces_ = point->traces();
  trace_origin_ = start;
  if (watched.server_gone) return result;
  try {
    return merged_with(result);
  } catch (const Error& error) {
    // A server that stops closes its connections in no particular order: what a client noticed on its own may
    // only have followed from this.
    if (result.partial_reason.empty()) {
      result.partial_reason = error.what();
    } else if (watched.early.empty()) {
      result.partial_reason += std::string("; ") + error.what();
    }
    return result;
  }
}

PointResult RunClient::merged_with(const PointResult& own) {
  try {
    connection_.send({{"result", rkv::to_json(own)}});
  } catch (const Error& error) {
    throw Error(reason_of_server(error));
  }
  const Clock::time_point deadline = Clock::now() + server_patience;
  for (;;) {
    // An interrupt has been heeded; its descriptor stays readable and must not cut this short.
    const auto message = connection_.receive(deadline);
    if (!message) throw Error(connection_.peer() + " sent no result");
    throw_if_failed(*message, connection_.peer());
    if (may_cross_result(*message)) continue;
    PointResult whole = point_from_json(member(*message, "result"));
    whole.trace_overflow = own.trace_overflow;
    return whole;
  }
}

void RunClient::heed_server(const nlohmann::json& message, ClientSide& point, const ClientShare& share,
                            ReconnectionDesk& desk, const std::string& peer) {
  if (!point.reconnects()) throw Error(peer + " spoke out of turn");
  const auto index = [&share](const nlohmann::json& in, const char* name) {
    const std::uint64_t last = share.first + std::uint64_t{share.count} - 1;
    return static_cast<std::uint32_t>(number(in, name, share.first, last)) - share.first;
  };
  if (message.contains("disconnected")) {
    point.fail(index(message, "disconnected"));
    return;
  }
  bool asked = false;
  if (message.contains("not_reconnected")) {
    asked = desk.answer(index(message, "not_reconnected"), std::nullopt);
  } else {
    const nlohmann::json& answer = member(message, "reconnected");
    asked = desk.answer(index(answer, "client"), endpoint_from_json(member(answer, "endpoint")));
  }
  if (!asked) throw Error(peer + " connected a client anew that had not asked");
}

RunClient::Watched RunClient::watch(ClientSide& point, const ClientShare& share, ReconnectionDesk& desk) {
  PointProgress progress{.clients = share.count, .operations = 0, .started = Clock::now()};
  Watched watched;
  while (!point.finished()) {
    try {
      for (const ReconnectionDesk::Asked& asked : desk.take_asked()) {
        connection_.send(
            {{"reconnect", {{"client", share.first + asked.index}, {"endpoint", to_json(asked.own)}}}});
      }
      const auto next = Clock::now() + progress_interval;
      const auto message = connection_.receive(next, watched.early.empty() ? interrupt_.fd() : -1);
      if (message) {
        throw_if_failed(*message, connection_.peer());
        if (message->contains("stop")) {
          const nlohmann::json& reason = (*message)["stop"];
          if (!reason.is_string()) throw Error(connection_.peer() + " stopped the run without a reason");
          if (watched.early.empty()) {
            watched.early = printable(reason.get_ref<const std::string&>(), reason_bytes);
          }
          point.stop();
        } else {
          heed_server(*message, point, share, desk, connection_.peer());
        }
      }
    } catch (const Error& error) {
      // The server is gone or gave up: what was measured so far is kept.
      point.stop();
      return {.early = error.what(), .server_gone = true};
    }
    if (watched.early.empty() && interrupt_.raised()) {
      watched.early = interrupted;
      point.stop();
    }
    progress.operations = point.operations_done();
    if (on_progress_) on_progress_(progress);
  }
  return watched;
}

}  // namespace rkv::control
