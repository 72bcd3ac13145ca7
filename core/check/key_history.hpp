// What one client knows of one key: which states the key may be in, given which operations were asked for and
// answered when. Belongs to one thread.
//
// Each write that may still be what the key holds is a Candidate, with what is known of the moment at which
// it took effect: after `issued`, and by `done` at the latest. From `dead` on it can't be the key's state any
// more:
//  - another write was issued after `done` and had taken effect by `dead`; or
//  - a read issued after `done` was answered at `dead` with something else.
// Both follow from the key being one register on which each operation takes effect at one moment between its
// issue and its answer (linearizability: Herlihy and Wing, TOPLAS 1990). A read may return a candidate that
// was not dead when it was issued. So no answer of a linearizable store is ever refused, however operations
// overlap; with overlapping writes a few impossible orders of them are not told apart.
//
// Times are numbers of events as this client saw them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/workload/value_text.hpp"

namespace rkv {

using EventNumber = std::uint64_t;
inline constexpr EventNumber not_yet = ~EventNumber{0};

struct Candidate {
  ValueTag tag;            // of the value
  bool present = false;    // false: the key is absent
  bool foreign = false;    // written by another client, known because it was read
  EventNumber issued = 0;  // 0: before the run, or not known
  EventNumber done = not_yet;
  EventNumber dead = not_yet;
};

class KeyHistory {
 public:
  explicit KeyHistory(const Candidate& initial) : candidates_{initial} {}

  [[nodiscard]] const std::vector<Candidate>& candidates() const { return candidates_; }

  void add(const Candidate& candidate) { candidates_.push_back(candidate); }
  // The write issued at that event by this client had no effect.
  void remove(EventNumber issued);
  // The write issued at that event by this client had taken effect by `now`.
  void took_effect(EventNumber issued, EventNumber now);

  // A read issued at `issued` and answered at `now` found one of those candidates for which `matches` is
  // true. False when none of them can be; nothing is learnt then. With `more`, there may be matching states
  // beside the candidates, so that a single match is no proof that it was the one.
  template <typename Matches>
  bool observed(EventNumber issued, EventNumber now, bool more, Matches&& matches);

  // Forgets what can't be read any more by a read issued at `oldest_issue` or later. A few dead writes of
  // other clients are kept, to recognise them if they come back.
  void forget(EventNumber oldest_issue);

  // While operations of this client on the key are under way.
  std::uint32_t outstanding = 0;
  // A request for this key may still arrive at the server at any time: it was sent more than once or given
  // up.
  bool stray = false;

 private:
  static constexpr std::size_t kept_foreign = 8;

  void set_done(Candidate& candidate, EventNumber now);

  std::vector<Candidate> candidates_;
};

template <typename Matches>
bool KeyHistory::observed(EventNumber issued, EventNumber now, bool more, Matches&& matches) {
  Candidate* found = nullptr;
  std::size_t possible = 0;
  for (Candidate& candidate : candidates_) {
    if (candidate.dead > issued && matches(candidate)) {
      found = &candidate;
      ++possible;
    }
  }
  if (possible == 0 && !more) {
    return false;
  }
  for (Candidate& candidate : candidates_) {
    if (candidate.done < issued && candidate.dead > now && !matches(candidate)) {
      candidate.dead = now;
    }
  }
  if (possible == 1 && !more) {
    set_done(*found, now);
  }
  return true;
}

}  // namespace rkv
