// Creating ids. Internal to cm/api/.
#pragma once

#include "backends/verbs/soft/cm/identifier.hpp"

namespace rkv::soft::cm {

// Synchronous without a channel. Null with errno set.
Identifier* create_identifier(rdma_event_channel* channel, void* user, rdma_port_space space,
                              ibv_qp_type type);

}  // namespace rkv::soft::cm
