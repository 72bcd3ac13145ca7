// Ctrl-C and SIGTERM while points are simulated, so that a program can end in order (PointPool's Waiting).
#pragma once

namespace rkv::sim {

// From now on the first of them is only noted. The second one kills as it always did.
void note_interrupts();
[[nodiscard]] bool interrupted();

}  // namespace rkv::sim
