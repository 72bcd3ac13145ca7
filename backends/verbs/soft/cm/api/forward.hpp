// Who serves librdmacm's functions in this process: cm/, or librdmacm itself for the kernel's devices.
//
// An id can belong to any device and an event channel to ids of several, so the choice is made once a
// process: cm/ serves where libibverbs knows no device but soft0, or where RKV_SOFT_CM is 1.
#pragma once

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "backends/verbs/soft/api/forward.hpp"

namespace rkv::soft::cm {

bool serves();

}  // namespace rkv::soft::cm

#define RKV_SOFT_NEXT_CM(function, version, ...) \
  RKV_SOFT_NEXT_OF("librdmacm.so.1", function, version, __VA_ARGS__)
