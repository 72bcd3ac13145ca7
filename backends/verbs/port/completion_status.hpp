// What libibverbs says of a work request's end, in the seam's words.
#pragma once

#include <infiniband/verbs.h>

#include "core/port/device.hpp"

namespace rkv::verbs {

[[nodiscard]] CompletionStatus completion_status(ibv_wc_status status);

}  // namespace rkv::verbs
