#include "backends/verbs/soft/api/forward.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace rkv::soft {

void* find_next(const char* name, const char* version) {
  void* symbol = dlvsym(RTLD_NEXT, name, version);
  if (symbol == nullptr) {
    // This code is part of a program that itself doesn't need libibverbs.
    static void* const libibverbs = dlopen("libibverbs.so.1", RTLD_NOW);
    symbol = libibverbs == nullptr ? nullptr : dlvsym(libibverbs, name, version);
  }
  if (symbol == nullptr) {
    std::fprintf(stderr,
                 "rkv soft RNIC: no function %s (%s) in libibverbs.so.1: install libibverbs1, of rdma-core "
                 "44 or later\n",
                 name, version);
    std::abort();
  }
  return symbol;
}

}  // namespace rkv::soft
