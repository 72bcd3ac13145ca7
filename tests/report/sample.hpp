// A report with everything in it, the same every time.
#pragma once

#include "core/report/report.hpp"

namespace rkv::test {

// Clients first_client to first_client + clients - 1, `operations` each, with latencies around 5 us that grow
// with the number of clients.
[[nodiscard]] PointResult sample_point(std::uint32_t clients, std::uint64_t operations,
                                       std::uint32_t first_client = 0);

// Points for 1, 2 and 4 clients, the last one interrupted.
[[nodiscard]] Report sample_report();

}  // namespace rkv::test
