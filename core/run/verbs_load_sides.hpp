// The two sides of a point of workload verbs (core/verbs_load) as whoever runs points of every workload wants
// them. A connection is a group of clients: its endpoint names all queue pairs that they have in common, and
// the memory that operations on this side go to.
#pragma once

#include <cstdint>
#include <vector>

#include "core/run/sides.hpp"
#include "core/verbs_load/verbs_load_side.hpp"

namespace rkv {

class VerbsLoadServer final : public ServerSide {
 public:
  // The clients are divided among so many processes, none of which has none.
  VerbsLoadServer(const Port& port, const Scenario& scenario, std::uint32_t clients, std::uint32_t processes);

  [[nodiscard]] ConnectionRange connections_of(const ClientShare& share) const override;
  [[nodiscard]] ServerOffer offer(std::uint32_t connection) const override {
    return {.endpoint = side_.endpoint(connection), .address = {}, .token = 0};
  }
  void connect(std::uint32_t connection, const Endpoint& peer) override { side_.connect(connection, peer); }
  void accept_streams(Instant) override {}  // nobody dials
  [[nodiscard]] ServerLinks* links() override { return nullptr; }
  void start() override;
  void stop() override { side_.stop(); }
  ServerResult collect() override;

 private:
  void await_rest() const;

  const Port port_;
  const bool loses_sends_;
  VerbsLoadSide side_;
};

class VerbsLoadClients final : public ClientSide {
 public:
  VerbsLoadClients(const Port& port, const Scenario& scenario, const ClientShare& share)
      : side_(port, scenario, VerbsLoadSide::Role::clients, {share}) {}

  [[nodiscard]] std::uint32_t connections() const override { return side_.groups(); }
  [[nodiscard]] Endpoint endpoint(std::uint32_t connection) const override {
    return side_.endpoint(connection);
  }
  void connect(std::uint32_t connection, const ServerOffer& offer, Instant) override {
    side_.connect(connection, offer.endpoint);
  }
  [[nodiscard]] bool reconnects() const override { return false; }
  void fail(std::uint32_t) override {}
  void start(Instant start) override;
  void stop() override { side_.stop(); }
  [[nodiscard]] std::uint64_t operations_done() const override { return side_.operations_done(); }
  [[nodiscard]] bool finished() const override { return side_.finished(); }
  PointResult collect(Instant epoch) override;
  [[nodiscard]] const std::vector<TraceBuffer>& traces() const override { return no_traces_; }

 private:
  VerbsLoadSide side_;
  const std::vector<TraceBuffer> no_traces_;
};

}  // namespace rkv
