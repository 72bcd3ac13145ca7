#include "core/check/key_history.hpp"

#include <algorithm>

namespace rkv {

void KeyHistory::remove(EventNumber issued) {
  std::erase_if(candidates_, [&](const Candidate& candidate) { return candidate.issued == issued; });
}

void KeyHistory::took_effect(EventNumber issued, EventNumber now) {
  for (Candidate& candidate : candidates_) {
    if (candidate.issued == issued) {
      set_done(candidate, now);
      return;
    }
  }
}

void KeyHistory::set_done(Candidate& candidate, EventNumber now) {
  if (candidate.done <= now) {
    return;
  }
  candidate.done = now;
  for (Candidate& other : candidates_) {
    if (other.done < candidate.issued && other.dead > now) {
      other.dead = now;
    }
  }
}

void KeyHistory::forget(EventNumber oldest_issue) {
  const auto unreadable = [&](const Candidate& candidate) { return candidate.dead <= oldest_issue; };
  auto surplus = std::count_if(candidates_.begin(), candidates_.end(), [&](const Candidate& candidate) {
    return candidate.foreign && unreadable(candidate);
  });
  std::erase_if(candidates_, [&](const Candidate& candidate) {
    if (!unreadable(candidate)) {
      return false;
    }
    return !candidate.foreign || surplus-- > static_cast<std::ptrdiff_t>(kept_foreign);
  });
}

}  // namespace rkv
