// A thread that receives what clients SEND: it takes the completions of receives, by the server's completion
// policy, and posts these anew, `receive_batch` of a queue pair together. Nobody looks at the bytes.
//
// Made before the queue pairs are connected, so that no message comes before its receive. run() belongs to
// one thread, and neither allocates nor throws.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/completion/waiter.hpp"
#include "core/posting/receive_chain.hpp"
#include "core/verbs_load/queue_group.hpp"

namespace rkv {

class Receiver {
 public:
  // For these groups, whose queue pairs' receives it posts. All must outlive it. Throws rkv::Error.
  Receiver(const Port& port, const Scenario& scenario, const StopFlag& stop,
           const std::vector<QueueGroup*>& groups);

  // Until it is stopped.
  void run();
  // Messages so far, for any thread.
  [[nodiscard]] std::uint64_t received() const { return received_.load(std::memory_order_relaxed); }
  // After run(), and why it ended, if it was not stopped.
  [[nodiscard]] const ThreadUsage& usage() const { return usage_; }
  [[nodiscard]] std::string_view failure() const { return failure_; }

 private:
  // A queue pair, and its receives that are to be posted anew.
  struct Returned {
    QueuePair* queue_pair;
    ReceiveChain chain;
  };
  [[nodiscard]] ReceiveRequest request_of(std::uint32_t buffer) const;
  void take(std::uint32_t count);
  [[nodiscard]] bool give_back(std::uint32_t buffer);

  Runtime& runtime_;
  const std::uint32_t depth_;  // receives of a queue pair; buffers are numbered through all of them
  const std::uint32_t bytes_;
  const std::uint32_t stride_;
  std::unique_ptr<MemoryRegion> region_;
  std::vector<Returned> returned_;  // by queue pair, group by group
  std::unique_ptr<WaitSet> set_;
  Waiter waiter_;
  std::vector<Completion> taken_;
  std::atomic<std::uint64_t> received_{0};
  ThreadUsage usage_;
  std::string_view failure_;
};

}  // namespace rkv
