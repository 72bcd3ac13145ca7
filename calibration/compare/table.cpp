#include "calibration/compare/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace rkv::calibration {
namespace {

std::string name_of_range(Range range, const Comparison& comparison) {
  switch (range) {
    case Range::fitted:
      return fmt::format("up to {}", *comparison.fitted_clients);
    case Range::beyond:
      return fmt::format("above {}", *comparison.fitted_clients);
    case Range::all:
      break;
  }
  return "all";
}

std::string percent(double value) {
  return fmt::format("{:.1f} %", value);
}
// What is rounded away has no sign.
std::string signed_percent(double value) {
  return std::abs(value) < 0.05 ? "0.0 %" : fmt::format("{:+.1f} %", value);
}

std::string mean(const std::optional<CurveErrors>& errors) {
  return errors ? percent(errors->mean_absolute_error_percent) : "-";
}

std::string worst(const std::optional<CurveErrors>& errors) {
  return errors
             ? fmt::format("{} at {}", signed_percent(errors->worst.error_percent()), errors->worst.clients)
             : "-";
}

class Table {
 public:
  explicit Table(const Comparison& comparison) : comparison_(comparison) {}

  std::string text() {
    line("Measured:  {}", comparison_.measured_source);
    line("Predicted: {}", comparison_.predicted_source);
    if (comparison_.fitted_clients) {
      line(
          "USL:       the Universal Scalability Law, fitted to each curve's measured points with up to {} "
          "clients",
          *comparison_.fitted_clients);
    } else {
      line("USL:       the Universal Scalability Law, fitted to all measured points of each curve");
    }
    for (const std::string& metric : metrics()) {
      errors_of(metric);
    }
    shapes();
    not_compared();
    return std::move(text_);
  }

 private:
  template <typename... Parts>
  void line(fmt::format_string<Parts...> format, Parts&&... parts) {
    std::string text = fmt::format(format, std::forward<Parts>(parts)...);
    text.erase(text.find_last_not_of(' ') + 1);
    text_ += text + '\n';
  }

  void errors_of(const std::string& metric) {
    constexpr auto layout = "{:<18}{:<11}{:>6}  {:>10}{:>10}  {:>18}{:>18}";
    bool first = true;
    for (const CurveComparison& curve : comparison_.curves) {
      if (curve.key.metric != metric) {
        continue;
      }
      if (first) {
        line("");
        line("{:<35}  {:>20}  {:>36}", metric, "mean absolute error", "worst point");
        line(layout, "curve", "clients", "points", "predicted", "USL", "predicted", "USL");
        first = false;
      }
      std::string name = curve_name(curve.key);
      for (const RangeErrors& errors : curve.ranges) {
        line(layout, name, name_of_range(errors.range, comparison_),
             errors.predicted ? errors.predicted->points : 0, mean(errors.predicted), mean(errors.usl),
             worst(errors.predicted), worst(errors.usl));
        name.clear();
      }
    }
    std::string name = "all curves";
    for (const MetricErrors& errors : comparison_.metrics) {
      if (errors.metric == metric) {
        line(layout, name, name_of_range(errors.range, comparison_), errors.points,
             percent(errors.predicted_percent), errors.usl_percent ? percent(*errors.usl_percent) : "-", "",
             "");
        name.clear();
      }
    }
  }

  static std::string shape(const std::optional<CurveErrors>& errors) {
    if (!errors || !errors->shape) {
      return "-";
    }
    const ShapeError& shape = *errors->shape;
    return fmt::format("{}, at {} ({:+d})", signed_percent(shape.height_error_percent()),
                       shape.predicted_clients, shape.grid_steps);
  }

  void shapes() {
    constexpr auto layout = "{:<18}{:<11}{:<9}{:>24}  {:>22}  {:>22}";
    bool first = true;
    for (const CurveComparison& curve : comparison_.curves) {
      std::string name = curve_name(curve.key);
      for (const RangeErrors& errors : curve.ranges) {
        if (!errors.predicted || !errors.predicted->shape) {
          continue;
        }
        if (first) {
          line("");
          line(
              "Peaks and plateaus of throughput: height, and the clients at the peak or first at 90 % of the "
              "plateau;");
          line("errors of the height, clients (and by how many compared points too late)");
          line(layout, "curve", "clients", "shape", "measured", "predicted", "USL");
          first = false;
        }
        const ShapeError& measured = *errors.predicted->shape;
        line(layout, name, name_of_range(errors.range, comparison_),
             measured.kind == ShapeError::Kind::peak ? "peak" : "plateau",
             fmt::format("{:.0f} ops/s, at {}", measured.measured_height, measured.measured_clients),
             shape(errors.predicted), shape(errors.usl));
        name.clear();
      }
    }
  }

  void not_compared() {
    const auto list = [&](const std::vector<CurveKey>& keys, std::string_view what) {
      if (keys.empty()) {
        return;
      }
      line("");
      line("{}", what);
      std::map<std::string, std::vector<std::string>> by_curve;
      for (const CurveKey& key : keys) {
        by_curve[curve_name(key)].push_back(key.metric);
      }
      for (const auto& [curve, names] : by_curve) {
        line("  {} {}", curve, fmt::join(names, ", "));
      }
    };
    list(comparison_.only_measured, "Measured, but not predicted:");
    list(comparison_.only_predicted, "Predicted, but not measured:");
    if (!comparison_.left_out.empty()) {
      line("");
      line("Left out, measured throughput and mean latency, since no closed loop has both:");
      for (const ClosedLoopViolation& violation : comparison_.left_out) {
        line("  {} {} at clients = {}: {:.2f} us, but clients / throughput is {:.2f} us", violation.transport,
             violation.completion, violation.clients, violation.latency_mean_us, violation.least_us);
      }
    }
  }

  const Comparison& comparison_;
  std::string text_;
};

}  // namespace

std::string comparison_table(const Comparison& comparison) {
  return Table(comparison).text();
}

}  // namespace rkv::calibration
