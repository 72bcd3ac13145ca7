// Compares every response that one client gets with a model of the store, and says what is wrong.
//
// What is checked (key_history.hpp has the reasoning):
// - keys that no other client uses: the value, whole and byte by byte, or its absence, with any number of
// operations
//   outstanding on one key: what overlaps may be seen in either order;
// - shared keys: that a value is whole, belongs to the key and was written by a client of the run or the
// preload;
//   that this client's own values were really asked for and not replaced since by its own acknowledged
//   writes; that what it saw replaced doesn't come back (the last few values of others are remembered);
// - response codes: an absent key must be one that can be absent. The chained store answers KEY_ERROR also
// when it
//   doesn't get an entry's lock: accepted only where somebody else can hold it, and taken as "nothing
//   happened".
//
// Values shorter than 24 bytes tell only their key (value_text.hpp), so their writes are told apart by size
// alone.
//
// Memory: about 150 bytes for each key that this client wrote (or, of shared keys, read), up to `max_keys`
// keys. The answers for keys beyond those are checked without history (whole, of this key, by a client of the
// run) and counted by partly_checked(). It allocates, unlike a data path: check in runs whose times don't
// matter.
//
// Belongs to one client's thread. The store holds nothing but the scenario's preloaded keys at the start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/check/key_history.hpp"
#include "core/message/protocol.hpp"
#include "core/scenario/scenario.hpp"
#include "core/workload/key_space.hpp"
#include "core/workload/operation_stream.hpp"

namespace rkv {

// Of all clients of a process together 4 million, some 600 MB.
[[nodiscard]] constexpr std::size_t default_checked_keys(std::uint32_t clients) {
  return (std::size_t{4} << 20) / clients;
}

class Checker {
 public:
  // client < clients
  Checker(const Scenario& scenario, std::uint32_t client, std::uint32_t clients, std::size_t max_keys);
  Checker(const Scenario& scenario, std::uint32_t client, std::uint32_t clients)
      : Checker(scenario, client, clients, default_checked_keys(clients)) {}

  // This operation's request is about to be sent. `slot` is its place in the window, free until now.
  void issued(std::uint32_t slot, const Operation& operation);
  // Its request was sent again.
  void repeated(std::uint32_t slot);
  // Its response has come: what is wrong with it, if anything. `value` is what a GET returned.
  std::optional<std::string> answered(std::uint32_t slot, ResponseCode code,
                                      std::span<const std::byte> value);
  // It was given up: whether and when it takes effect is not known, for ever.
  void unanswered(std::uint32_t slot);

  // Answers of which only the value itself could be checked.
  [[nodiscard]] std::uint64_t partly_checked() const { return partly_checked_; }

 private:
  struct Outstanding {
    bool active = false;
    bool contended = false;  // another operation of this client may have held the entry's lock
    Operation operation;
    EventNumber issued = 0;
  };

  [[nodiscard]] KeyHistory* find(std::uint64_t key_id);
  KeyHistory* find_or_start(std::uint64_t key_id);
  [[nodiscard]] Candidate initial_state(std::uint64_t key_id) const;
  void mark_contention(Outstanding& outstanding);
  void finish(Outstanding& outstanding);
  [[nodiscard]] EventNumber oldest_issue(std::uint64_t key_id) const;
  [[nodiscard]] bool lock_may_be_held(const Outstanding& outstanding, const KeyHistory* history) const;

  std::string judge(const Outstanding& outstanding, KeyHistory* history, ResponseCode code,
                    std::span<const std::byte> value);
  std::string judge_value(const Outstanding& outstanding, KeyHistory* history,
                          std::span<const std::byte> value);
  std::string judge_absence(const Outstanding& outstanding, KeyHistory* history);
  std::string judge_removal(const Outstanding& outstanding, KeyHistory* history);
  [[nodiscard]] std::string flaw_of_value(std::uint64_t key_id, std::span<const std::byte> value);
  [[nodiscard]] std::string described(const Outstanding& outstanding, const KeyHistory* history,
                                      const std::string& complaint) const;

  KeySpace keys_;
  std::uint32_t client_;
  std::uint32_t clients_;
  std::size_t max_keys_;
  std::uint32_t value_capacity_bytes_;
  bool chained_;
  bool others_write_;   // the same keys
  bool others_delete_;  // the same keys
  bool full_ = false;   // a key had to go without history: from then on no key gets a new one
  EventNumber now_ = 0;
  std::uint64_t versions_ = 0;  // of this client's SETs
  std::uint64_t partly_checked_ = 0;
  std::vector<Outstanding> slots_;
  std::unordered_map<std::uint64_t, KeyHistory> histories_;
  std::vector<std::byte> expected_;  // room for a value of the thesis
};

}  // namespace rkv
