// A simulated completion queue: what the card has made visible, in order. A source that wait sets wait for.
//
// Its costs are those of the queue pairs attached to it (of the last one's transport, of UC before there is
// one). One look that takes n completions costs `poll` for the first and a quarter of it for each further
// one: the call and the queue's doorbell record are paid for once (Kalia et al., "FaSST", OSDI 2016, polls in
// batches for that).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "backends/sim/cpu/host.hpp"
#include "backends/sim/cpu/poll_lock.hpp"
#include "backends/sim/cpu/spin_lock.hpp"
#include "backends/sim/nic/card.hpp"
#include "backends/sim/nic/completion_sink.hpp"
#include "backends/sim/port/source.hpp"
#include "core/port/device.hpp"

namespace rkv::sim {

class SimDevice;

class SimCompletionQueue final : public CompletionQueue, public Source, public CompletionSink {
 public:
  // By SimDevice::make_completion_queue().
  SimCompletionQueue(SimDevice& device, std::uint32_t number, std::uint32_t depth, bool blockable);
  ~SimCompletionQueue() override;

  // Queue pairs of this transport complete here. One queue cannot receive for UD, whose completions count a
  // 40-byte header as received, and for RC or UC: throws rkv::Error.
  void attach_sends(Transport transport);
  void attach_receives(Transport transport);
  [[nodiscard]] const SimDevice& device() const { return device_; }

  // --- Source
  [[nodiscard]] bool ready() const override { return !finished_.empty(); }
  [[nodiscard]] Ps take_cost(std::size_t room) const override;
  [[nodiscard]] SpinLock* lock() override { return lock_.get(); }
  // Throws rkv::Error when the queue has overrun.
  std::uint32_t take(Thread& taker, std::span<Completion> out) override;

  // --- CompletionSink
  void push(const Finished& finished) override;
  [[nodiscard]] bool wants_event() const override { return armed(); }
  [[nodiscard]] bool sleeps() const override { return watcher_sleeps(); }
  [[nodiscard]] const Core* reader() const override;
  void forget(std::uint32_t queue_pair) override;

  // --- of the device
  // The event has reached the host: wakes those who sleep.
  void deliver() { deliver_event(); }
  Ps event_since = 0;
  Thread* event_by = nullptr;  // soft: who writes it

 private:
  void use_costs_of(Transport transport);

  SimDevice& device_;
  const std::uint32_t number_;
  const std::uint32_t depth_;
  Ps poll_;  // one completion
  std::unique_ptr<SpinLock> lock_;
  std::unique_ptr<PollLock> polled_by_;
  std::deque<Finished> finished_;
  const Core* reader_ = nullptr;  // the last one
  bool overrun_ = false;
  enum class Receives : std::uint8_t { none, datagrams, connected } receives_ = Receives::none;
};

}  // namespace rkv::sim
