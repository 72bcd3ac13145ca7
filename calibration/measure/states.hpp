// States of a machine that changes while it is measured: a hypervisor that puts two virtual CPUs now on cores
// with a common cache and now on distant ones makes all that passes between them up to five times as dear,
// for seconds at a time. A median over both states is that of neither. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace rkv::calibration {

// Two kinds of values. Each has its median and how many there were.
struct States {
  double fast = 0;
  double slow = 0;
  double limit = 0;  // between them
  std::size_t fast_count = 0;
  std::size_t slow_count = 0;

  // The one that figures are taken in: the fast one, if the machine is in it for a quarter of the time.
  [[nodiscard]] bool keeps_fast() const { return 3 * fast_count >= slow_count; }
  [[nodiscard]] double kept() const { return keeps_fast() ? fast : slow; }
  [[nodiscard]] bool keeps(double value) const { return (value < limit) == keeps_fast(); }
};

// Times of something that only the state decides, as positive numbers. They are split where the logarithms of
// both parts are spread least about their means (Otsu, "A threshold selection method from gray-level
// histograms", IEEE Trans. SMC 9(1), 1979). None when the parts' medians are less than a factor of 1.5 apart,
// when a part is less than a twentieth of all, or when there are fewer than ten values.
[[nodiscard]] std::optional<States> states_of(std::vector<double> values);

}  // namespace rkv::calibration
