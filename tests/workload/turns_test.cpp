#include "core/workload/turns.hpp"

#include <catch2/catch.hpp>

using namespace rkv;
using namespace std::chrono_literals;

namespace {

Instant at(Duration since_zero) {
  return Instant{} + since_zero;
}

}  // namespace

TEST_CASE("clients that take no turns, or are one group, may issue at any time") {
  const Turns none({}, 3, 100);
  CHECK_FALSE(none.taken());
  CHECK(none.next(at(17ns)) == at(17ns));
  const Turns all({.clients = 4, .length = 100us}, 3, 4);
  CHECK_FALSE(all.taken());
  CHECK(all.next(at(250us)) == at(250us));
}

TEST_CASE("groups of clients take turns one after the other") {
  // Seven clients in groups of up to three: {0, 1, 2}, {3, 4}, {5, 6}.
  const TurnOptions options{.clients = 3, .length = 100us};
  const Turns second(options, 4, 7);
  CHECK(second.taken());
  CHECK(second.next(at(0us)) == at(100us));
  CHECK(second.next(at(99'999ns)) == at(100us));
  CHECK(second.next(at(100us)) == at(100us));
  CHECK(second.next(at(199'999ns)) == at(199'999ns));
  CHECK(second.next(at(200us)) == at(400us));
  const Turns first(options, 2, 7);
  CHECK(first.next(at(99'999ns)) == at(99'999ns));
  CHECK(first.next(at(100us)) == at(300us));
  const Turns third(options, 5, 7);
  CHECK(third.next(at(10us)) == at(200us));
  CHECK(third.next(at(299us)) == at(299us));
  CHECK(third.next(at(300us)) == at(500us));
}

TEST_CASE("a group begins before its turn, and ends with it") {
  const TurnOptions options{.clients = 1, .length = 100us, .overlap = 10us};
  const Turns first(options, 0, 2);
  CHECK(first.next(at(0us)) == at(0us));
  CHECK(first.next(at(100us)) == at(190us));
  CHECK(first.next(at(195us)) == at(195us));
  CHECK(first.next(at(299us)) == at(299us));
  CHECK(first.next(at(300us)) == at(390us));
  const Turns second(options, 1, 2);
  CHECK(second.next(at(0us)) == at(90us));
  CHECK(second.next(at(199us)) == at(199us));
  CHECK(second.next(at(200us)) == at(290us));
}

TEST_CASE("at each time one group, and for the overlap two, may issue") {
  const TurnOptions options{.clients = 5, .length = 1000ns, .overlap = 200ns};
  constexpr std::uint32_t clients = 17;  // groups 0 to 3, of which the first has five
  for (Duration time{0}; time < 9us; time += 50ns) {
    std::uint32_t issuing = 0;
    for (std::uint32_t client = 0; client < clients; ++client) {
      const Turns turns(options, client, clients);
      const Instant next = turns.next(at(time));
      CHECK(turns.next(next) == next);
      if (next == at(time)) ++issuing;
    }
    const auto group = static_cast<std::uint32_t>(time / 1000ns % 4);
    const bool overlaps = time % 1000ns >= 800ns;
    const auto members = [](std::uint32_t number) { return number == 0 ? 5U : 4U; };
    CHECK(issuing == members(group) + (overlaps ? members((group + 1) % 4) : 0));
  }
}
