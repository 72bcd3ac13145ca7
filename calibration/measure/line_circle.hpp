// Cache lines in a circle, each of which names the next. Header only; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "calibration/measure/stopwatch.hpp"

namespace rkv::calibration {

class LineCircle {
 public:
  // All lines once, in an order of chance (S. Sattolo, Information Processing Letters 22(6), 1986).
  LineCircle(std::uint64_t bytes, std::mt19937_64& random) : lines_(bytes / sizeof(Line)) {
    std::vector<std::size_t> next(lines_.size());
    std::iota(next.begin(), next.end(), 0);
    for (std::size_t i = next.size() - 1; i > 0; --i) {
      std::swap(next[i], next[std::uniform_int_distribution<std::size_t>(0, i - 1)(random)]);
    }
    for (std::size_t i = 0; i < next.size(); ++i) lines_[i].next = &lines_[next[i]];
    at_ = lines_.data();
  }

  [[nodiscard]] std::size_t lines() const { return lines_.size(); }
  [[nodiscard]] std::uint64_t bytes() const { return lines_.size() * sizeof(Line); }
  void go_round() { go(lines_.size()); }
  void go(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) at_ = at_->next;
    keep(at_);
  }

 private:
  struct alignas(64) Line {
    const Line* next = nullptr;
  };

  std::vector<Line> lines_;
  const Line* at_ = nullptr;
};

}  // namespace rkv::calibration
