#include "backends/verbs/soft/api/forward.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace rkv::soft {

void* find_next(const char* name, const char* version) {
  void* symbol = dlvsym(RTLD_NEXT, name, version);
  if (symbol == nullptr) {
    symbol = dlsym(RTLD_NEXT, name);
  }
  if (symbol == nullptr) {
    std::fprintf(stderr, "rkv soft RNIC: libibverbs has no function %s: install rdma-core 44 or later\n",
                 name);
    std::abort();
  }
  return symbol;
}

}  // namespace rkv::soft
