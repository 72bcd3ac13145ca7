#include "backends/verbs/soft/api/forward.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace rkv::soft {

void* find_next(const char* library, const char* name, const char* version) {
  void* symbol = dlvsym(RTLD_NEXT, name, version);
  if (symbol == nullptr) {
    // This code is part of a program that itself doesn't need the library. What is loaded already is only
    // counted.
    void* const loaded = dlopen(library, RTLD_NOW);
    symbol = loaded == nullptr ? nullptr : dlvsym(loaded, name, version);
  }
  if (symbol == nullptr) {
    std::fprintf(stderr,
                 "rkv soft RNIC: no function %s (%s) in %s: install that library, of rdma-core 44 or later\n",
                 name, version, library);
    std::abort();
  }
  return symbol;
}

}  // namespace rkv::soft
