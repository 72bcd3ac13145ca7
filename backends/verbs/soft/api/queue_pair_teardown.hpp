// Emptying a queue pair, for a reset or its end. Internal to api/.
#pragma once

#include "backends/verbs/soft/verbs/queue_pair.hpp"

namespace rkv::soft {

// Afterwards no request, no receive, no completion of the queue pair is left, and no peer is about to add
// one. The state must already keep peers and posters away. With control held only.
void empty(QueuePair& qp);

}  // namespace rkv::soft
