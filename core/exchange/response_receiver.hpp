// A client's receives: responses that come as SENDs, over one queue pair or several. A receive is posted anew
// before the response that used one up is handled; with a receive_batch, when so many can be together.
//
// Belongs to one client thread. receive() does not allocate or throw.
#pragma once

#include <memory>
#include <vector>

#include "core/completion/waiter.hpp"
#include "core/exchange/client_exchange.hpp"
#include "core/posting/receive_chain.hpp"

namespace rkv {

class ResponseReceiver {
 public:
  // transport, queue_pairs: what receives. The port and the flag outlive it.
  ResponseReceiver(const Port& port, const Scenario& scenario, Transport transport, std::uint32_t queue_pairs,
                   const StopFlag& stop);

  // What the queue pairs receive into, `depth` each at most.
  [[nodiscard]] CompletionQueue& completions() { return *completions_; }
  [[nodiscard]] std::uint32_t depth() const { return depth_; }
  // Posts the receives, to queue pairs that have none. They are destroyed first; receive() is not called
  // then. Throws rkv::Error.
  void attach(std::vector<QueuePair*> queue_pairs);
  // Takes every receive back from queue pairs that have failed, with what is in it. False: stopped.
  [[nodiscard]] bool take_back();

  // As ClientExchange::receive(). `broken` comes behind the responses that came before.
  Received receive(std::span<ResponseView> out, Instant deadline);
  [[nodiscard]] std::uint32_t largest_take() const { return take_; }
  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }
  // Why receive() said broken, and whether that tells of loss and nothing else.
  [[nodiscard]] std::string_view broken_reason() const { return broken_; }
  [[nodiscard]] bool lost() const { return lost_; }

 private:
  [[nodiscard]] ReceiveRequest receive_into(std::uint32_t queue_pair, std::uint32_t buffer) const;
  // That are not posted.
  [[nodiscard]] std::size_t kept() const;
  // The receives of these completions are not posted again.
  void keep(std::span<const Completion> completions);
  void break_off(std::string_view why, bool lost) {
    broken_ = why;
    lost_ = lost;
  }

  const MessageFormat format_;
  const std::uint32_t headroom_bytes_;
  const std::uint32_t stride_;
  const std::uint32_t depth_;
  const std::uint32_t posted_;  // on all queue pairs
  const std::uint32_t take_;
  std::unique_ptr<MemoryRegion> buffers_;
  std::unique_ptr<CompletionQueue> completions_;
  std::unique_ptr<WaitSet> set_;
  Waiter waiter_;
  std::vector<QueuePair*> queue_pairs_;
  std::vector<ReceiveChain> chains_;  // a queue pair each
  std::vector<std::uint32_t> spare_;  // buffers that are not posted; responses may lie in others
  std::vector<std::uint32_t> handed_out_;
  std::vector<Completion> taken_;
  std::uint64_t malformed_ = 0;
  std::string_view broken_;
  bool lost_ = false;
};

}  // namespace rkv
