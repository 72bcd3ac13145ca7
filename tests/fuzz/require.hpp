// What a fuzzer finds wrong beside what the sanitizers do: ends the process, so that libFuzzer keeps the
// input.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace rkv::soft {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "Not so: %s\n", what);
  std::abort();
}

}  // namespace rkv::soft
