// How a client's GETs past the server's CPU went (core/exchange/slots/direct_gets.hpp). Plain data.
#pragma once

#include <cstdint>

namespace rkv {

struct DirectGetCounts {
  std::uint64_t remembered = 0;  // READs of a place that the client remembered
  std::uint64_t asked = 0;       // READs of a place that the server was asked for
  std::uint64_t stale = 0;       // of both: those that found the item gone

  void merge(const DirectGetCounts& other) {
    remembered += other.remembered;
    asked += other.asked;
    stale += other.stale;
  }

  friend bool operator==(const DirectGetCounts&, const DirectGetCounts&) = default;
};

}  // namespace rkv
