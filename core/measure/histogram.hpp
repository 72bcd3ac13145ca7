// A latency histogram: how often each latency occurred, in buckets whose width grows with the value.
//
// Layout: log-linear, as in HdrHistogram (Gil Tene) with two significant digits: values below 256 ns have a
// bucket each, above that every power of two is cut into 128 equal buckets. A bucket's width is thus at most
// 1/128 = 0.78 % of any value in it. The range is 0 to 2^42 - 1 ns, about 73 minutes.
// Count, minimum, maximum, mean and standard deviation are exact, not taken from the buckets.
//
// All memory (36 KiB) is taken at construction; record() never allocates and has no data-dependent branch
// other than the one for a value out of range. Not thread-safe: one histogram a thread, merged at the end.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "core/port/time.hpp"

namespace rkv {

class Histogram {
 public:
  static constexpr std::uint32_t sub_bucket_bits = 7;
  static constexpr std::uint32_t value_bits = 42;
  static constexpr std::uint64_t largest_ns = (std::uint64_t{1} << value_bits) - 1;
  // Sums of squares stay exact in 128 bits up to 2^44 values; nobody may send more than this in one piece.
  static constexpr std::uint64_t largest_serialised_count = std::uint64_t{1} << 40;

  Histogram();

  // A latency below 0 or above largest_ns is recorded as the nearest end of the range, and counted in
  // out_of_range().
  void record(Duration latency) { record(latency, 1); }
  // The same latency so many times.
  void record(Duration latency, std::uint64_t times);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::uint64_t out_of_range() const { return out_of_range_; }
  // Of an empty histogram these are all 0.
  [[nodiscard]] std::uint64_t min_ns() const { return count_ == 0 ? 0 : min_ns_; }
  [[nodiscard]] std::uint64_t max_ns() const { return max_ns_; }
  [[nodiscard]] double mean_ns() const;
  // Of the values as a population (divided by the count).
  [[nodiscard]] double stddev_ns() const;
  // The nearest-rank quantile: the value at rank ceil(q * count), at least the first. Given as the largest
  // value of its bucket, but no more than max_ns(); so it is never below the true one and at most 0.78 %
  // above. q <= 0 gives min_ns(), q >= 1 max_ns(), both exact.
  [[nodiscard]] std::uint64_t quantile_ns(double q) const;

  // Adds all of `other`: the result is the same as if its values had been recorded here.
  void merge(const Histogram& other);
  void clear();

  // A bucket's values are [first_ns, last_ns], both included.
  struct Bucket {
    std::uint64_t first_ns = 0;
    std::uint64_t last_ns = 0;
    std::uint64_t count = 0;
  };
  // The buckets that hold something, in ascending order.
  [[nodiscard]] std::vector<Bucket> buckets() const;

  // Sparse: only the buckets that hold something. For sending to another process.
  [[nodiscard]] nlohmann::json to_json() const;
  // Takes what to_json gave. The input may come from anywhere: every field is checked, and that the exact
  // sums are possible for these buckets. Throws rkv::Error saying what is wrong.
  static Histogram from_json(const nlohmann::json& json);

  friend bool operator==(const Histogram&, const Histogram&) = default;

 private:
  __extension__ using Wide = unsigned __int128;

  static constexpr std::uint32_t sub_buckets = 1U << sub_bucket_bits;

  // 256 for the values that are their own index, 128 for each further power of two.
  static constexpr std::size_t bucket_count = std::size_t{value_bits - sub_bucket_bits + 1}
                                              << sub_bucket_bits;

  static constexpr std::size_t index_of(std::uint64_t value_ns) {
    const auto shift =
        static_cast<std::uint32_t>(std::bit_width(value_ns | sub_buckets)) - sub_bucket_bits - 1;
    return (std::size_t{shift} << sub_bucket_bits) + static_cast<std::size_t>(value_ns >> shift);
  }
  static Bucket bucket_at(std::size_t index);
  // Sum over all values of (value - floor(mean))^2, exact: all of it is integers.
  [[nodiscard]] Wide squares_about_floor_of_mean() const;

  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  std::uint64_t out_of_range_ = 0;
  std::uint64_t min_ns_ = largest_ns;
  std::uint64_t max_ns_ = 0;
  Wide sum_ns_ = 0;
  Wide sum_of_squares_ns2_ = 0;
};

inline void Histogram::record(Duration latency, std::uint64_t times) {
  if (times == 0) return;
  auto value_ns = static_cast<std::uint64_t>(latency.count());
  if (value_ns > largest_ns) [[unlikely]] {  // a negative latency is a huge unsigned number
    value_ns = latency.count() < 0 ? 0 : largest_ns;
    out_of_range_ += times;
  }
  counts_[index_of(value_ns)] += times;
  count_ += times;
  min_ns_ = std::min(min_ns_, value_ns);
  max_ns_ = std::max(max_ns_, value_ns);
  sum_ns_ += static_cast<Wide>(value_ns) * times;
  sum_of_squares_ns2_ += static_cast<Wide>(value_ns) * value_ns * times;
}

}  // namespace rkv
