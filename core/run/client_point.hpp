// The clients' side of one point of a study: this process's clients, their connections and threads.
//
// Used by one thread: construct, hand out endpoints, connect every client, start, watch, collect. stop() may
// be called by any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/client/client.hpp"
#include "core/exchange/stream_client.hpp"
#include "core/exchange/verbs_client.hpp"
#include "core/run/sides.hpp"

namespace rkv {

class ClientPoint final : public ClientSide {
 public:
  // Without `reconnect` a client whose connection is lost has ended.
  ClientPoint(const Port& port, const Scenario& scenario, const ClientShare& share,
              ReconnectClient reconnect = {});
  ~ClientPoint() override;  // stops

  // One a client: that of index is of client share.first + index.
  [[nodiscard]] std::uint32_t connections() const override { return share_.count; }
  [[nodiscard]] Endpoint endpoint(std::uint32_t index) const override { return verbs_[index]->endpoint(); }
  void connect(std::uint32_t index, const ServerOffer& offer, Instant deadline) override;

  [[nodiscard]] bool reconnects() const override { return reconnects_; }
  void fail(std::uint32_t index) override { verbs_[index]->fail(); }

  void start(Instant start) override;
  // The same with schedules of their own, by the client's number in the whole point.
  void start(const std::function<ClientSchedule(std::uint32_t client)>& schedules);
  void stop() override;
  [[nodiscard]] std::uint64_t operations_done() const override;
  [[nodiscard]] bool finished() const override;
  // Raised when every client has ended and by stop().
  [[nodiscard]] const StopFlag& over() const { return *stop_; }
  PointResult collect(Instant epoch) override;
  [[nodiscard]] const std::vector<TraceBuffer>& traces() const override { return traces_; }

 private:
  const Port port_;
  const Scenario scenario_;
  const ClientShare share_;
  const ReconnectClient reconnect_;
  const bool reconnects_;
  std::unique_ptr<StopFlag> stop_;
  std::atomic<std::uint32_t> unfinished_{0};
  std::unique_ptr<Mutex> overhead_lock_;
  std::vector<std::unique_ptr<VerbsClient>> verbs_;  // one of the two
  std::vector<std::unique_ptr<StreamClient>> streams_;
  std::vector<TraceBuffer> traces_;
  struct ClientThread;
  std::vector<std::unique_ptr<ClientThread>> clients_;
};

}  // namespace rkv
