#include "backends/verbs/soft/wire/counters.hpp"

namespace rkv::soft::wire {

Counters& counters() {
  static Counters instance;
  return instance;
}

}  // namespace rkv::soft::wire
