// The work that was posted, and whether the completions are those that it is owed.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace rkv::soft {

class Ledger {
 public:
  // Whose: a queue pair's place in the list of them, or for a shared receive queue this.
  static constexpr std::size_t shared = ~std::size_t{0};

  // The number that the next work request gets.
  std::uint64_t next_id() const { return entries_.size(); }
  void add_send(std::size_t owner, bool signaled);
  void add_receive(std::size_t owner, std::uint64_t room_bytes);

  // The last one could not be posted.
  void withdraw() { entries_.pop_back(); }

  // A completion of the queue pair at that place.
  void complete(const ibv_wc& completion, std::size_t place);
  // A queue pair was reset: its work is gone, and so are its completions.
  void forget(std::size_t owner);
  // Everything that a queue pair in error was posted has completed, unless it was not to be signaled.
  void check_flushed(std::size_t owner) const;
  // Shared receives that were posted and have not completed.
  std::uint32_t shared_left() const;

 private:
  enum class State : std::uint8_t { posted, completed, forgotten };
  struct Entry {
    std::size_t owner = 0;
    bool receive = false;
    bool signaled = true;
    State state = State::posted;
    std::uint64_t room_bytes = 0;
  };
  void add(const Entry& entry) { entries_.push_back(entry); }
  void check_order(std::uint64_t id) const;

  std::vector<Entry> entries_;
};

}  // namespace rkv::soft
