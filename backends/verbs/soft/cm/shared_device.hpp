// The context of soft0 that all ids share, as librdmacm opens each device once, and its protection domain.
#pragma once

#include <infiniband/verbs.h>

namespace rkv::soft::cm {

struct SharedDevice {
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;  // of queue pairs whose creator names none
};

// Opens it the first time and keeps it until the process ends. Null with errno set. Thread-safe.
const SharedDevice* shared_device();

}  // namespace rkv::soft::cm
