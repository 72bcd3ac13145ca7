// The Universal Scalability Law, the baseline that a simulation has to beat:
//
//   X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))
//
// X: throughput with N clients; lambda: of one client without others; sigma: the part of an operation that is
// serialised (contention); kappa: what keeping each pair of clients consistent costs (coherency).
// N. J. Gunther, "Guerrilla Capacity Planning", Springer 2007, chapters 4 to 6.
#pragma once

#include <cstdint>
#include <optional>

#include "calibration/curves/curve.hpp"

namespace rkv::calibration {

struct Usl {
  double lambda_ops_s = 0;  // above 0
  double sigma = 0;         // 0 or more
  double kappa = 0;         // 0 or more

  [[nodiscard]] double throughput_ops_s(double clients) const;
  // Mean latency in a closed loop without time to think: Little's law, clients x outstanding / X(clients).
  [[nodiscard]] double latency_us(double clients, std::uint32_t outstanding = 1) const;
};

// The parameters with the least sum of squared relative residuals (X(N) / measured - 1), none negative. With
// only two different numbers of clients kappa is 0, with only one sigma too (linear scaling): so many points
// say no more. Nothing without points. The values are positive. Thread-safe.
[[nodiscard]] std::optional<Usl> fit_usl(const Curve& throughput_ops_s);

// The same for a curve of mean latencies in microseconds: of the throughputs that a closed loop would have,
// clients x outstanding / latency. A curve of latencies gets parameters of its own, so that time that clients
// spend between their operations, which their throughput has in it, is not held against the law.
[[nodiscard]] std::optional<Usl> fit_usl_to_latency(const Curve& latency_us, std::uint32_t outstanding = 1);

}  // namespace rkv::calibration
