#include "backends/sim/engine/event_queue.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <tuple>

using namespace rkv;
using namespace rkv::sim;

namespace {

class Nobody final : public EventHandler {
 public:
  void on_event(std::uint64_t) override {}
};

}  // namespace

TEST_CASE("events come out by time, and those of one time in the order of their planning") {
  std::mt19937_64 random(7);
  // Near, far and at all distances between, with many equal times.
  const std::vector<Ps> spans{0,          1,          1'000'000,     19'999'999,
                              20'000'000, 20'000'001, 3'000'000'000, 1'000'000'000'000};
  Nobody nobody;
  EventQueue queue;
  std::set<std::tuple<Ps, std::uint64_t>> expected;
  Ps now = 0;
  std::uint64_t planned = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 100 < (i < 10'000 ? 60 : 40) || queue.empty()) {
      const Ps at = now + spans[random() % spans.size()];
      queue.push(now, at, nobody, planned);
      expected.emplace(at, planned++);
      continue;
    }
    REQUIRE(queue.size() == expected.size());
    REQUIRE(queue.next_time() == std::get<0>(*expected.begin()));
    const EventQueue::Event event = queue.pop();
    REQUIRE(std::tuple(event.at, event.tag) == *expected.begin());
    expected.erase(expected.begin());
    now = event.at;
  }
}
