#include "core/measure/histogram.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace rkv {
namespace {

__extension__ using Wide = unsigned __int128;

std::string to_decimal(Wide value) {
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
    value /= 10;
  } while (value != 0);
  return digits;
}

[[noreturn]] void refuse(std::string_view what) {
  throw Error(fmt::format("a latency histogram that was received is not valid: {}", what));
}

std::uint64_t unsigned_number(const nlohmann::json& value, std::string_view name) {
  if (!value.is_number_unsigned()) {
    refuse(fmt::format("{} is not a number without sign and fraction", name));
  }
  return value.get<std::uint64_t>();
}

const nlohmann::json& field(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) {
    refuse(fmt::format("{} is missing", name));
  }
  return *found;
}

// A 128-bit number, which JSON has no type for, is a string of decimal digits.
Wide wide_number(const nlohmann::json& value, std::string_view name) {
  constexpr Wide largest = ~Wide{0};
  if (!value.is_string()) {
    refuse(fmt::format("{} is not a string of digits", name));
  }
  const auto& digits = value.get_ref<const std::string&>();
  if (digits.empty()) {
    refuse(fmt::format("{} is empty", name));
  }
  Wide number = 0;
  for (const char digit : digits) {
    if (digit < '0' || digit > '9') {
      refuse(fmt::format("{} is not a string of digits", name));
    }
    const auto unit = static_cast<unsigned>(digit - '0');
    if (number > (largest - unit) / 10) {
      refuse(fmt::format("{} is too large", name));
    }
    number = number * 10 + unit;
  }
  return number;
}

}  // namespace

Histogram::Histogram() : counts_(bucket_count, 0) {}

double Histogram::mean_ns() const {
  return count_ == 0
             ? 0.0
             : static_cast<double>(static_cast<long double>(sum_ns_) / static_cast<long double>(count_));
}

// With q = floor(sum / n) and r = sum - n q:  sum (x-q)^2 = sum x^2 - 2 q sum x + n q^2 = sum x^2 - q (sum +
// r). Unsigned arithmetic wraps, so this is exact whenever the result fits, however large the terms are.
Histogram::Wide Histogram::squares_about_floor_of_mean() const {
  const Wide floor_of_mean = sum_ns_ / count_;
  const Wide rest = sum_ns_ % count_;
  return sum_of_squares_ns2_ - floor_of_mean * (sum_ns_ + rest);
}

double Histogram::stddev_ns() const {
  if (count_ == 0) {
    return 0.0;
  }
  // Moving the centre from q to the mean q + r/n takes off r^2/n, with r < n: nothing large is subtracted.
  const auto n = static_cast<long double>(count_);
  const auto rest = static_cast<long double>(sum_ns_ % count_);
  const auto squares = static_cast<long double>(squares_about_floor_of_mean()) - rest * rest / n;
  return static_cast<double>(std::sqrt(std::max(squares, 0.0L) / n));
}

std::uint64_t Histogram::quantile_ns(double q) const {
  if (count_ == 0 || !(q > 0.0)) {
    return min_ns();
  }
  if (q >= 1.0) {
    return max_ns_;
  }
  // 0.07 * 200 is a little more than 14 in binary; the rank meant is 14. Two roundings are taken off again.
  const double exact_rank =
      q * static_cast<double>(count_) * (1.0 - 2.0 * std::numeric_limits<double>::epsilon());
  const auto rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::ceil(exact_rank)), 1, count_);
  std::uint64_t seen = 0;
  for (std::size_t index = 0; index < counts_.size(); ++index) {
    seen += counts_[index];
    if (seen >= rank) {
      return std::min(bucket_at(index).last_ns, max_ns_);
    }
  }
  return max_ns_;
}

void Histogram::merge(const Histogram& other) {
  for (std::size_t index = 0; index < counts_.size(); ++index) {
    counts_[index] += other.counts_[index];
  }
  count_ += other.count_;
  out_of_range_ += other.out_of_range_;
  min_ns_ = std::min(min_ns_, other.min_ns_);
  max_ns_ = std::max(max_ns_, other.max_ns_);
  sum_ns_ += other.sum_ns_;
  sum_of_squares_ns2_ += other.sum_of_squares_ns2_;
}

void Histogram::clear() {
  std::fill(counts_.begin(), counts_.end(), 0);
  count_ = out_of_range_ = max_ns_ = 0;
  min_ns_ = largest_ns;
  sum_ns_ = sum_of_squares_ns2_ = 0;
}

Histogram::Bucket Histogram::bucket_at(std::size_t index) {
  if (index < 2 * sub_buckets) {
    return {index, index, 0};
  }
  const auto shift = (index >> sub_bucket_bits) - 1;
  const std::uint64_t first = (index - (shift << sub_bucket_bits)) << shift;
  return {first, first + (std::uint64_t{1} << shift) - 1, 0};
}

std::vector<Histogram::Bucket> Histogram::buckets() const {
  std::vector<Bucket> filled;
  for (std::size_t index = 0; index < counts_.size(); ++index) {
    if (counts_[index] != 0) {
      filled.push_back(bucket_at(index));
      filled.back().count = counts_[index];
    }
  }
  return filled;
}

nlohmann::json Histogram::to_json() const {
  auto counts = nlohmann::json::array();
  for (std::size_t index = 0; index < counts_.size(); ++index) {
    if (counts_[index] != 0) {
      counts.push_back({index, counts_[index]});
    }
  }
  return {{"sub_bucket_bits", sub_bucket_bits},
          {"counts", std::move(counts)},
          {"out_of_range", out_of_range_},
          {"min_ns", min_ns()},
          {"max_ns", max_ns_},
          {"sum_ns", to_decimal(sum_ns_)},
          {"sum_of_squares_ns2", to_decimal(sum_of_squares_ns2_)}};
}

Histogram Histogram::from_json(const nlohmann::json& json) {
  if (!json.is_object()) {
    refuse("it is not an object");
  }
  if (unsigned_number(field(json, "sub_bucket_bits"), "sub_bucket_bits") != sub_bucket_bits) {
    refuse(fmt::format("sub_bucket_bits is not {}: the peer is another version of rkv", sub_bucket_bits));
  }
  const auto& counts = field(json, "counts");
  if (!counts.is_array()) {
    refuse("counts is not an array");
  }
  Histogram histogram;
  std::size_t next_index = 0;
  Wide least_sum = 0, most_sum = 0, least_squares = 0, most_squares = 0;
  std::optional<Bucket> first;
  Bucket last;
  for (const auto& pair : counts) {
    if (!pair.is_array() || pair.size() != 2) {
      refuse("counts has something that is not an index and a count");
    }
    const auto index = unsigned_number(pair[0], "an index");
    const auto count = unsigned_number(pair[1], "a count");
    if (index < next_index || index >= bucket_count) {
      refuse("the indexes do not ascend, or one is out of range");
    }
    if (count == 0 || count > largest_serialised_count - histogram.count_) {
      refuse(fmt::format("a count is 0, or all together are more than {}", largest_serialised_count));
    }
    next_index = index + 1;
    histogram.counts_[index] = count;
    histogram.count_ += count;
    last = bucket_at(index);
    first = first.value_or(last);
    least_sum += Wide{count} * last.first_ns;
    most_sum += Wide{count} * last.last_ns;
    least_squares += Wide{count} * last.first_ns * last.first_ns;
    most_squares += Wide{count} * last.last_ns * last.last_ns;
  }
  histogram.out_of_range_ = unsigned_number(field(json, "out_of_range"), "out_of_range");
  const auto min_ns = unsigned_number(field(json, "min_ns"), "min_ns");
  const auto max_ns = unsigned_number(field(json, "max_ns"), "max_ns");
  const auto sum_ns = wide_number(field(json, "sum_ns"), "sum_ns");
  const auto squares = wide_number(field(json, "sum_of_squares_ns2"), "sum_of_squares_ns2");
  if (histogram.out_of_range_ > histogram.count_) {
    refuse("out_of_range is more than all values");
  }
  if (sum_ns < least_sum || sum_ns > most_sum || squares < least_squares || squares > most_squares) {
    refuse("the sums do not belong to the counts");
  }
  if (!first) {
    if (min_ns != 0 || max_ns != 0) {
      refuse("it is empty but has a minimum or a maximum");
    }
    return histogram;
  }
  if (min_ns < first->first_ns || min_ns > first->last_ns || max_ns < last.first_ns ||
      max_ns > last.last_ns || min_ns > max_ns) {
    refuse("the minimum or the maximum does not belong to the counts");
  }
  histogram.min_ns_ = min_ns;
  histogram.max_ns_ = max_ns;
  histogram.sum_ns_ = sum_ns;
  histogram.sum_of_squares_ns2_ = squares;
  // No value is further from the mean than max - min, and integers' squares are at least the integers.
  const Wide width = max_ns - min_ns;
  const Wide about_mean = histogram.squares_about_floor_of_mean();
  if (about_mean > width * width * histogram.count_ || about_mean < sum_ns % histogram.count_) {
    refuse("the sum of squares does not belong to the sum");
  }
  return histogram;
}

}  // namespace rkv
