// How one-sided data move within the process: as copy.hpp has it, or word by word with pauses in between, in
// an order of chance, when that is injected.
#pragma once

#include "backends/verbs/soft/transport/copy.hpp"

namespace rkv::soft {

[[nodiscard]] CopyFunction write_copy();
[[nodiscard]] CopyFunction read_copy();

}  // namespace rkv::soft
