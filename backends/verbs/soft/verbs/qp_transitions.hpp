// Which changes of a queue pair's state are allowed, and with which attributes: the tables of the InfiniBand
// specification (vol. 1, 10.3.1 and table 92) as ibv_modify_qp(3) gives them.
#pragma once

#include <infiniband/verbs.h>

namespace rkv::soft {

// True if a queue pair of that type may go from one state to the other with exactly these attributes.
bool is_allowed_transition(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int attribute_mask);

}  // namespace rkv::soft
