// The seam's tests are written once against its public headers. A backend takes part by implementing
// with_ports(); the suite's sources are then built with it (tests/port/CMakeLists.txt).
#pragma once

#include <functional>

#include "core/port/wait.hpp"

namespace rkv::test {

// Two hosts of one network.
struct PortPair {
  Port server;
  Port client;
};

// Calls `body` once with fresh ports for the transport, where the backend allows them to be used, and throws
// what it throws. Catch2 asserts in the body's own thread only: threads that it spawns record, the body
// asserts.
void with_ports(Transport transport, const std::function<void(const PortPair&)>& body);

// Whether what two threads do for long at the same time always meets: in simulation, where each step of both
// takes the time that it is said to take.
[[nodiscard]] bool overlaps_are_certain();

}  // namespace rkv::test
