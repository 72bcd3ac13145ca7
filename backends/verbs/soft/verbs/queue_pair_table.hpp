// Every queue pair of the process by its number, and the wait that lets one be freed.
//
// find() takes no lock; its result may be used while the caller holds a send lock or the wire's.
// wait_for_data_path() passes through all of these once: whoever held one when it was called, and with it a
// pointer to a queue pair or the address behind a key, has let go of it when it returns.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "backends/verbs/soft/verbs/limits.hpp"
#include "backends/verbs/soft/verbs/queue_pair.hpp"
#include "backends/verbs/soft/wire/progress.hpp"

namespace rkv::soft {

class QueuePairTable {
 public:
  static QueuePairTable& instance();

  // Gives the queue pair its number. False: all numbers are in use.
  bool insert(QueuePair& qp);
  // From here on nobody finds it; wait_for_data_path() must follow before it is freed.
  void hide(QueuePair& qp);
  // Gives the number back. Numbers carry a generation, so a stale one finds nothing for 256 reuses.
  void release(QueuePair& qp);

  QueuePair* find(std::uint32_t number) const {
    QueuePair* const qp = entries_[number & index_mask].load(std::memory_order_acquire);
    return qp != nullptr && qp->number() == number ? qp : nullptr;
  }

  // Calls visit(other) under each queue pair's send lock, with no other lock of a queue pair held.
  template <typename Visit>
  void wait_for_data_path(Visit visit) {
    const std::scoped_lock lock(mutex_);
    wire::Progress::wait_for_handlers();
    for (QueuePair* const each : live_) {
      const std::scoped_lock data_path(each->send_lock);
      visit(*each);
    }
  }
  void wait_for_data_path() {
    wait_for_data_path([](QueuePair&) {});
  }

 private:
  static constexpr std::uint32_t index_bits = 16;
  static constexpr std::uint32_t index_mask = (1U << index_bits) - 1;

  std::array<std::atomic<QueuePair*>, 1U << index_bits> entries_{};
  std::mutex mutex_;  // guards the rest; taken before send locks
  std::array<std::uint8_t, 1U << index_bits> generations_{};
  std::vector<QueuePair*> live_;
  std::uint32_t next_index_ = limits::first_qp_index;
};

}  // namespace rkv::soft
