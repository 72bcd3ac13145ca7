// Ends that one client takes for another.
#include "core/verbs_load/queue_group.hpp"

#include <catch2/catch.hpp>
#include <thread>
#include <utility>
#include <vector>

namespace rkv::test {
namespace {

using Ends = std::vector<std::pair<std::uint32_t, CompletionStatus>>;

Ends emptied(EndBox& box) {
  Ends ends;
  box.empty([&](std::uint32_t slot, CompletionStatus status) { ends.emplace_back(slot, status); });
  return ends;
}

TEST_CASE("a box gives out each end once", "[verbs_load]") {
  EndBox box(4);
  CHECK(emptied(box).empty());
  box.put(2, CompletionStatus::ok);
  box.put(0, CompletionStatus::flushed);
  CHECK(emptied(box) == Ends{{0, CompletionStatus::flushed}, {2, CompletionStatus::ok}});
  CHECK(emptied(box).empty());
  box.put(2, CompletionStatus::ok);
  CHECK(emptied(box) == Ends{{2, CompletionStatus::ok}});
}

TEST_CASE("no end is lost or told twice while others fill the box", "[verbs_load]") {
  constexpr std::uint32_t slots = 64;
  EndBox box(slots);
  std::vector<std::thread> others;
  for (std::uint32_t first = 0; first < 2; ++first) {
    others.emplace_back([&box, first] {
      for (std::uint32_t slot = first; slot < slots; slot += 2) box.put(slot, CompletionStatus::ok);
    });
  }
  std::vector<int> told(slots);
  for (std::uint32_t count = 0; count < slots;) {
    for (const auto& [slot, status] : emptied(box)) {
      ++told[slot];
      ++count;
    }
    std::this_thread::yield();
  }
  for (std::thread& other : others) other.join();
  CHECK(emptied(box).empty());
  CHECK(told == std::vector<int>(slots, 1));
}

TEST_CASE("depths are those of all members, and ids tell them apart", "[verbs_load]") {
  Scenario scenario;
  scenario.load.window = 8;
  scenario.queue_pair.signal_interval = 1;
  scenario.verbs.queue_pairs = 3;
  CHECK(verbs_load_send_depth(scenario, 4) == 4 * 8 + 2);
  CHECK(verbs_load_completion_depth(scenario, 4) == 4 * 8 + 3);
  scenario.verbs.clients_a_queue_pair = 4;
  CHECK(largest_group(scenario, 96) == 4);
  CHECK(largest_group(scenario, 3) == 3);
  const std::uint64_t id = QueueGroup::id(7, 5);
  CHECK(QueueGroup::member_of(id) == 7);
  CHECK(QueueGroup::slot_of(id) == 5);
}

}  // namespace
}  // namespace rkv::test
