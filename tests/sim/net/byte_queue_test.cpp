// The queue behind TCP's flows, against a deque.
#include "backends/sim/net/byte_queue.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <random>
#include <vector>

namespace rkv::sim::test {
namespace {

TEST_CASE("a byte queue holds what a deque holds") {
  std::mt19937 random(GENERATE(1U, 2U, 3U));
  ByteQueue queue;
  std::deque<std::byte> model;
  for (int i = 0; i < 3000; ++i) {
    const std::size_t count = random() % 20;
    switch (random() % 8) {
      case 0:
        queue.drop_back(count);
        model.resize(model.size() - std::min(count, model.size()));
        break;
      case 1:
        if (random() % 20 == 0) {
          queue.clear();
          model.clear();
        }
        break;
      case 2:
      case 3:
      case 4:
        queue.drop_front(count);
        model.erase(model.begin(),
                    model.begin() + static_cast<std::ptrdiff_t>(std::min(count, model.size())));
        break;
      default: {
        std::vector<std::byte> bytes(count);
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
        queue.append(bytes);
        model.insert(model.end(), bytes.begin(), bytes.end());
      }
    }
    REQUIRE(queue.size() == model.size());
    REQUIRE(std::equal(queue.bytes().begin(), queue.bytes().end(), model.begin(), model.end()));
  }
}

}  // namespace
}  // namespace rkv::sim::test
