// Operations that threads have recorded (Thread::record): each lives until it has been played, and is then
// used again.
#pragma once

#include <deque>
#include <vector>

namespace rkv::sim {

// All of them are made with the same argument, which outlives the pool.
template <typename Operation, typename Owner>
class OperationPool {
 public:
  explicit OperationPool(Owner& owner) : owner_(owner) {}

  // Not in use: to be recorded.
  [[nodiscard]] Operation& take() {
    if (free_.empty()) return all_.emplace_back(owner_);
    Operation& operation = *free_.back();
    free_.pop_back();
    return operation;
  }
  // It has been played.
  void give_back(Operation& operation) { free_.push_back(&operation); }

 private:
  Owner& owner_;
  std::deque<Operation> all_;
  std::vector<Operation*> free_;
};

}  // namespace rkv::sim
