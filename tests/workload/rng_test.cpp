#include "core/workload/rng.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "core/workload/permutation.hpp"
#include "tests/workload/statistics.hpp"

using rkv::Purpose;
using rkv::Rng;

TEST_CASE("xoshiro256** gives the reference implementation's numbers") {
  Rng rng(std::array<std::uint64_t, 4>{1, 2, 3, 4});
  for (const std::uint64_t expected :
       {11520ULL, 0ULL, 1509978240ULL, 1215971899390074240ULL, 1216172134540287360ULL, 607988272756665600ULL,
        16172922978634559625ULL, 8476171486693032832ULL}) {
    CHECK(rng.next() == expected);
  }
}

TEST_CASE("splitmix64 gives the reference implementation's numbers") {
  std::uint64_t state = 1234567;
  for (const std::uint64_t expected :
       {6457827717110365317ULL, 3203168211198807973ULL, 9817491932198370423ULL}) {
    CHECK(rkv::splitmix64(state) == expected);
  }
}

TEST_CASE("every seed, stream and purpose has numbers of its own, always the same") {
  std::set<std::uint64_t> firsts;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (std::uint64_t stream = 0; stream < 100; ++stream) {
      for (const Purpose purpose :
           {Purpose::operation, Purpose::key, Purpose::value_size, Purpose::arrival}) {
        const std::uint64_t first = Rng(seed, stream, purpose).next();
        CHECK(first == Rng(seed, stream, purpose).next());
        firsts.insert(first);
      }
    }
  }
  CHECK(firsts.size() == 10 * 100 * 4);
}

TEST_CASE("numbers below a bound are evenly spread") {
  Rng rng(1, 0, Purpose::key);
  constexpr std::uint64_t draws = 100'000;
  std::vector<std::uint64_t> counts(100);
  for (std::uint64_t i = 0; i < draws; ++i) {
    ++counts[rng.below(100)];
  }
  CHECK(std::abs(rkv::excess_of_chi_square(counts, std::vector<double>(100, 0.01), draws)) < 4);
  // With a bound of 3/4 of all numbers, taking remainders would give the lower half of them twice as often.
  constexpr std::uint64_t bound = 3ULL << 62;
  std::uint64_t low = 0;
  for (std::uint64_t i = 0; i < draws; ++i) {
    low += rng.below(bound) < bound / 2 ? 1 : 0;
  }
  CHECK(std::abs(static_cast<double>(low) - draws / 2.0) < 5 * std::sqrt(draws / 4.0));
  CHECK(rng.below(1) == 0);
}

TEST_CASE("numbers in the unit interval keep to it") {
  Rng rng(1, 0, Purpose::key);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double unit = rng.unit();
    const double positive = rng.positive_unit();
    REQUIRE((unit >= 0 && unit < 1 && positive > 0 && positive <= 1));
    sum += unit;
  }
  CHECK(sum / 100'000 == Approx(0.5).margin(0.005));
}

TEST_CASE("a permutation maps its range onto itself and parts neighbours") {
  for (const std::uint64_t count : {1ULL, 2ULL, 3ULL, 7ULL, 8ULL, 1000ULL, 1024ULL, 1025ULL, 100'000ULL}) {
    const rkv::Permutation permutation(count);
    std::vector<bool> seen(count);
    std::uint64_t neighbours = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t image = permutation(i);
      REQUIRE(image < count);
      REQUIRE_FALSE(seen[image]);
      seen[image] = true;
      const std::uint64_t next = i + 1 < count ? permutation(i + 1) : image;
      neighbours += next == image + 1 || image == next + 1 ? 1 : 0;
    }
    if (count >= 1000) {
      CHECK(neighbours < count / 50);
    }
  }
}
