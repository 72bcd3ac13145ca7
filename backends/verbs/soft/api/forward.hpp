// Reaching the real libibverbs behind the functions that this library puts in front of it.
//
// Each exported ibv_* function serves objects of soft0 itself and hands all others on. Internal to api/.
#pragma once

#include <infiniband/verbs.h>

// verbs.h hides these functions behind macros of the same name.
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define RKV_SOFT_EXPORT extern "C" __attribute__((visibility("default")))

namespace rkv::soft {

// The next definition of an exported function: that of the library behind this one ("libibverbs.so.1"). Ends
// the process with a message if there is none.
void* find_next(const char* library, const char* name, const char* version);

}  // namespace rkv::soft

// Calls another library's own definition of a function, which is looked up once.
#define RKV_SOFT_NEXT_OF(library, function, version, ...)                                           \
  ([&] {                                                                                            \
    static auto* const next =                                                                       \
        reinterpret_cast<decltype(&function)>(::rkv::soft::find_next(library, #function, version)); \
    return next(__VA_ARGS__);                                                                       \
  }())
#define RKV_SOFT_NEXT(function, version, ...) \
  RKV_SOFT_NEXT_OF("libibverbs.so.1", function, version, __VA_ARGS__)
