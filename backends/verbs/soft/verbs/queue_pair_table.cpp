#include "backends/verbs/soft/verbs/queue_pair_table.hpp"

#include <algorithm>

namespace rkv::soft {

QueuePairTable& QueuePairTable::instance() {
  // Never destroyed: queue pairs may outlive static destruction.
  static auto* const table = new QueuePairTable;
  return *table;
}

bool QueuePairTable::insert(QueuePair& qp) {
  const std::scoped_lock lock(mutex_);
  for (std::uint32_t tried = 0; tried < limits::max_qp; ++tried) {
    const std::uint32_t index = next_index_;
    next_index_ = index == limits::last_qp_index ? limits::first_qp_index : index + 1;
    if (entries_[index].load(std::memory_order_relaxed) == nullptr) {
      qp.completions.qp_num = std::uint32_t{generations_[index]++} << index_bits | index;
      live_.push_back(&qp);
      entries_[index].store(&qp, std::memory_order_release);
      return true;
    }
  }
  return false;
}

void QueuePairTable::hide(QueuePair& qp) {
  entries_[qp.number() & index_mask].store(nullptr, std::memory_order_release);
}

void QueuePairTable::release(QueuePair& qp) {
  const std::scoped_lock lock(mutex_);
  std::erase(live_, &qp);
}

}  // namespace rkv::soft
