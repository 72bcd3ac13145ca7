// How librdmacm's functions end. Internal to cm/api/.
#pragma once

#include <cerrno>

#include "backends/verbs/soft/cm/identifier.hpp"

namespace rkv::soft::cm {

// 0, or -1 with errno set.
inline int outcome(int error) {
  if (error == 0) return 0;
  errno = error;
  return -1;
}

// The same of a call that an event follows: a synchronous id waits for it and keeps it as its `event`.
int completed(Identifier& id, int error);

// Gives back the event that a synchronous id keeps, if any.
void drop_event(rdma_cm_id& id);

}  // namespace rkv::soft::cm
