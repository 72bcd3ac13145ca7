#include "core/report/point_table.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace rkv {

void print_point_header() {
  fmt::print("{:>7} {:>14} {:>10} {:>10} {:>10} {:>10} {:>8} {:>6}\n", "clients", "ops/s", "mean us",
             "p50 us", "p99 us", "max us", "retries", "lost");
}

void print_point(const PointResult& point) {
  constexpr double ns_in_us = 1e3;
  const auto us = [](double ns) { return ns / ns_in_us; };
  fmt::print("{:>7} {:>14.0f} {:>10.2f} {:>10.2f} {:>10.2f} {:>10.2f} {:>8} {:>6}{}\n", point.clients,
             point.throughput_ops_s(), us(point.latency.mean_ns()),
             us(static_cast<double>(point.latency.quantile_ns(0.5))),
             us(static_cast<double>(point.latency.quantile_ns(0.99))),
             us(static_cast<double>(point.latency.max_ns())), point.retries, point.lost,
             point.partial() ? "  partial" : "");
  std::fflush(stdout);
}

void print_complaints(std::string_view program, const PointResult& point) {
  for (const std::string& text : point.check_violations.texts) {
    fmt::print(stderr, "{}: wrong response: {}\n", program, text);
  }
  if (point.partial()) {
    fmt::print(stderr, "{}: the point with {} clients ended early: {}\n", program, point.clients,
               point.partial_reason);
  }
}

}  // namespace rkv
