#include "tests/fuzz/ledger.hpp"

#include "tests/fuzz/require.hpp"

namespace rkv::soft {

void Ledger::add_send(std::size_t owner, bool signaled) {
  add({.owner = owner, .receive = false, .signaled = signaled});
}

void Ledger::add_receive(std::size_t owner, std::uint64_t room_bytes) {
  add({.owner = owner, .receive = true, .room_bytes = room_bytes});
}

void Ledger::complete(const ibv_wc& completion, std::size_t place) {
  require(completion.wr_id < entries_.size(), "what completes was posted");
  Entry& entry = entries_[completion.wr_id];
  require(entry.state == State::posted, "what completes does so once, and not after a reset");
  require(entry.owner == place || entry.owner == shared, "what completes was posted to that queue pair");
  entry.state = State::completed;
  if (entry.owner != shared) check_order(completion.wr_id);
  if (completion.status != IBV_WC_SUCCESS) return;
  require(entry.signaled, "what succeeds unsignaled does not complete");
  require(entry.receive == ((completion.opcode & IBV_WC_RECV) != 0), "a receive completes as a receive");
  if (completion.opcode == IBV_WC_RECV) {
    require(completion.byte_len <= entry.room_bytes, "a message fits into its receive");
  }
}

// Of a queue's work all before it that completes at all has completed.
void Ledger::check_order(std::uint64_t id) const {
  const Entry& entry = entries_[id];
  for (std::uint64_t before = 0; before < id; ++before) {
    const Entry& other = entries_[before];
    require(other.owner != entry.owner || other.receive != entry.receive || !other.signaled ||
                other.state != State::posted,
            "work completes in order");
  }
}

void Ledger::forget(std::size_t owner) {
  for (Entry& each : entries_) {
    if (each.owner == owner && each.state == State::posted) each.state = State::forgotten;
  }
}

void Ledger::check_flushed(std::size_t owner) const {
  for (const Entry& each : entries_) {
    require(each.owner != owner || !each.signaled || each.state != State::posted,
            "an error completes all work");
  }
}

std::uint32_t Ledger::shared_left() const {
  std::uint32_t left = 0;
  for (const Entry& each : entries_) left += each.owner == shared && each.state == State::posted ? 1 : 0;
  return left;
}

}  // namespace rkv::soft
