// Taking the queue pair of an id, if it has one, through its states. Internal to cm/api/.
#pragma once

#include "backends/verbs/soft/cm/identifier.hpp"

namespace rkv::soft::cm {

// To one state, with the attributes that the id gives. 0, or errno.
int change_state(const Identifier& id, ibv_qp& qp, ibv_qp_state state);
// From INIT, with the peer's data. 0, or errno.
int make_ready_to_send(const Identifier& id);
// To ERR.
void make_broken(const Identifier& id);

}  // namespace rkv::soft::cm
