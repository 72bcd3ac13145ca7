#include "core/workload/zipf.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "tests/workload/statistics.hpp"

using rkv::Purpose;
using rkv::Rng;
using rkv::ZipfDistribution;

namespace {

std::vector<double> zipf_probabilities(std::uint64_t count, double theta) {
  std::vector<double> probabilities(count);
  for (std::uint64_t rank = 0; rank < count; ++rank) {
    probabilities[rank] = std::pow(static_cast<double>(rank + 1), -theta);
  }
  const double sum = std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
  for (double& probability : probabilities) {
    probability /= sum;
  }
  return probabilities;
}

// Ranks beyond the first `cells` - 1 are counted together, so that every cell has draws enough.
double excess(const ZipfDistribution& zipf, std::uint64_t count, double theta, std::size_t cells) {
  constexpr std::uint64_t draws = 200'000;
  Rng rng(5, 0, Purpose::key);
  std::vector<std::uint64_t> counts(cells);
  for (std::uint64_t i = 0; i < draws; ++i) {
    const std::uint64_t rank = zipf(rng);
    REQUIRE(rank < count);
    ++counts[std::min<std::uint64_t>(rank, cells - 1)];
  }
  std::vector<double> probabilities = zipf_probabilities(count, theta);
  for (std::size_t i = cells; i < probabilities.size(); ++i) {
    probabilities[cells - 1] += probabilities[i];
  }
  probabilities.resize(cells);
  return rkv::excess_of_chi_square(counts, probabilities, draws);
}

}  // namespace

TEST_CASE("ranks follow Zipf's law below, at and above an exponent of 1") {
  for (const double theta : {0.0, 0.2, 0.5, 0.99, 1.0, 1.0000001, 1.2, 2.0}) {
    for (const std::uint64_t count : {10ULL, 1000ULL}) {
      INFO("theta " << theta << " count " << count);
      const std::size_t cells = theta > 1.5 ? 10 : std::min<std::uint64_t>(count, 100);
      CHECK(std::abs(excess(ZipfDistribution(count, theta), count, theta, cells)) < 5);
    }
  }
}

TEST_CASE("the test of ranks tells a wrong exponent") {
  CHECK(excess(ZipfDistribution(1000, 0.99), 1000, 0.95, 100) > 50);
}

TEST_CASE("a resized distribution is that of its new size") {
  ZipfDistribution zipf(3, 0.99);
  zipf.resize(500);
  CHECK(std::abs(excess(zipf, 500, 0.99, 100)) < 5);
}

TEST_CASE("extreme distributions stay in range") {
  Rng rng(1, 0, Purpose::key);
  for (const double theta : {0.0, 0.99, 1.0, 3.0, 100.0}) {
    for (const std::uint64_t count : {1ULL, 2ULL, 1'000'000'000ULL}) {
      const ZipfDistribution zipf(count, theta);
      for (int i = 0; i < 1000; ++i) {
        REQUIRE(zipf(rng) < count);
      }
    }
  }
}
