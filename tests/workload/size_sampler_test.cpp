#include "core/workload/size_sampler.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "core/scenario/load.hpp"
#include "tests/workload/statistics.hpp"

using rkv::Purpose;
using rkv::Rng;
using rkv::SizeDistribution;
using rkv::SizeSampler;

namespace {

struct Moments {
  double mean = 0;
  double stddev = 0;
  std::uint32_t smallest = 0xffffffff;
  std::uint32_t largest = 0;
};

Moments moments(const SizeDistribution& distribution) {
  constexpr int draws = 200'000;
  const SizeSampler sampler(distribution);
  Rng rng(3, 0, Purpose::value_size);
  Moments result;
  double squares = 0;
  for (int i = 0; i < draws; ++i) {
    const std::uint32_t bytes = sampler(rng);
    result.smallest = std::min(result.smallest, bytes);
    result.largest = std::max(result.largest, bytes);
    result.mean += bytes;
    squares += static_cast<double>(bytes) * bytes;
  }
  result.mean /= draws;
  result.stddev = std::sqrt(squares / draws - result.mean * result.mean);
  CHECK(result.smallest >= distribution.smallest_bytes());
  CHECK(result.largest <= distribution.largest_bytes());
  return result;
}

}  // namespace

TEST_CASE("fixed and uniform sizes") {
  SizeDistribution d;
  d.bytes = 77;
  CHECK(moments(d).mean == 77);
  d.kind = SizeDistribution::Kind::uniform;
  d.min_bytes = 10;
  d.max_bytes = 20;
  const Moments uniform = moments(d);
  CHECK(uniform.mean == Approx(15).margin(0.05));
  CHECK(uniform.smallest == 10);
  CHECK(uniform.largest == 20);
}

TEST_CASE("normal sizes have their mean and deviation, and are clamped") {
  SizeDistribution d;
  d.kind = SizeDistribution::Kind::normal;
  d.mean_bytes = 500;
  d.stddev_bytes = 40;
  d.min_bytes = 1;
  d.max_bytes = 1000;
  const Moments normal = moments(d);
  CHECK(normal.mean == Approx(500).margin(0.5));
  CHECK(normal.stddev == Approx(40).epsilon(0.02));
  d.min_bytes = 490;
  d.max_bytes = 510;
  const Moments clamped = moments(d);
  CHECK(clamped.smallest == 490);
  CHECK(clamped.largest == 510);
}

TEST_CASE("generalised Pareto sizes have the law's mean and deviation") {
  SizeDistribution d;
  d.kind = SizeDistribution::Kind::generalised_pareto;
  d.location = 100;
  d.scale = 200;
  d.shape = 0.1;
  d.min_bytes = 0;
  d.max_bytes = 1'000'000;
  const Moments pareto = moments(d);
  CHECK(pareto.mean == Approx(100 + 200 / (1 - 0.1)).epsilon(0.01));
  CHECK(pareto.stddev == Approx(200 / ((1 - 0.1) * std::sqrt(1 - 0.2))).epsilon(0.03));
  d.shape = 0;  // an exponential
  CHECK(moments(d).mean == Approx(300).epsilon(0.01));
}

TEST_CASE("generalised extreme value sizes have the law's mean and deviation") {
  SizeDistribution d;
  d.kind = SizeDistribution::Kind::generalised_extreme_value;
  d.location = 300;
  d.scale = 80;
  d.shape = 0.08;
  d.min_bytes = 0;
  d.max_bytes = 100'000;
  const double g1 = std::tgamma(1 - 0.08);
  const double g2 = std::tgamma(1 - 0.16);
  const Moments gev = moments(d);
  CHECK(gev.mean == Approx(300 + 80 * (g1 - 1) / 0.08).epsilon(0.01));
  CHECK(gev.stddev == Approx(80 * std::sqrt(g2 - g1 * g1) / 0.08).epsilon(0.03));
  d.shape = 0;  // Gumbel's
  CHECK(moments(d).mean == Approx(300 + 80 * 0.5772).epsilon(0.01));
}

TEST_CASE("discrete sizes have their weights") {
  SizeDistribution d;
  d.kind = SizeDistribution::Kind::discrete;
  d.discrete_bytes = {5, 100, 7};
  d.discrete_weights = {1, 2, 5};
  const SizeSampler sampler(d);
  Rng rng(3, 0, Purpose::value_size);
  std::vector<std::uint64_t> counts(3);
  for (int i = 0; i < 80'000; ++i) {
    const std::uint32_t bytes = sampler(rng);
    ++counts[bytes == 5 ? 0 : bytes == 100 ? 1 : 2];
  }
  CHECK(std::abs(rkv::excess_of_chi_square(counts, {0.125, 0.25, 0.625}, 80'000)) < 5);
}

TEST_CASE("Facebook's ETC sizes are the paper's") {
  const rkv::Scenario etc =
      rkv::parse_scenario(R"({"preset": "etc", "load": {"total_operations": 10}})", "test");
  // Table for 0 to 14 bytes; the rest a generalised Pareto, which can give small sizes too.
  const SizeSampler values(etc.value_size);
  Rng rng(3, 0, Purpose::value_size);
  constexpr int draws = 200'000;
  int two = 0;
  int above_500 = 0;
  for (int i = 0; i < draws; ++i) {
    const std::uint32_t bytes = values(rng);
    two += bytes == 2 ? 1 : 0;
    above_500 += bytes > 500 ? 1 : 0;
  }
  const auto pareto_above = [](double x) { return std::pow(1 + 0.348238 * x / 214.476, -1 / 0.348238); };
  const double rest = 1 - 0.44155;
  CHECK(two / double{draws} ==
        Approx(0.17820 + rest * (pareto_above(1.5) - pareto_above(2.5))).epsilon(0.02));
  CHECK(above_500 / double{draws} == Approx(rest * pareto_above(500.5)).epsilon(0.03));
  // Keys: mean of the extreme value law, barely moved by the clamping.
  const double g1 = std::tgamma(1 - 0.078688);
  CHECK(moments(etc.key_size).mean == Approx(30.7984 + 8.20449 * (g1 - 1) / 0.078688).epsilon(0.01));
}
