// What libibverbs says of a work request's end, in the seam's words.
#pragma once

#include <infiniband/verbs.h>

#include "core/port/device.hpp"

namespace rkv::verbs {

// One-sided: that the request was a READ or WRITE, which an error's completion does not tell.
[[nodiscard]] CompletionStatus completion_status(ibv_wc_status status, bool one_sided = false);

}  // namespace rkv::verbs
