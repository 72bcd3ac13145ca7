// What a point must be in which nothing went wrong.
#pragma once

#include <catch2/catch.hpp>

#include "tests/run/local_point.hpp"

namespace rkv::test {

inline void require_clean(const LocalPoint& point, std::uint64_t operations) {
  for (const std::string& text : point.result.check_violations.texts) UNSCOPED_INFO(text);
  CHECK(point.result.check_violations.count == 0);
  CHECK(point.result.partial_reason.empty());
  CHECK(point.result.operations.total() == operations);
  CHECK(point.result.latency.count() == operations);
  CHECK(point.result.lost == 0);
  CHECK(point.server.counts.rejected == 0);
}

}  // namespace rkv::test
