// rkv-calibrate compare
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "calibration/compare/comparison.hpp"
#include "calibration/compare/files.hpp"
#include "calibration/compare/side.hpp"
#include "calibration/compare/table.hpp"
#include "calibration/curves/predictions.hpp"
#include "calibration/rkv_calibrate/command.hpp"
#include "core/error.hpp"

namespace rkv::calibration {
namespace {

struct Options {
  std::filesystem::path measured;
  std::filesystem::path predicted;  // empty: the column of `measured`
  std::optional<std::uint32_t> fitted_clients;
  std::filesystem::path out;  // empty: only the table
};

constexpr const char* footer = R"(MEASURED and PREDICTED are each
  a CSV file                 transport,completion,clients,metric,value[,spread]: one line a value; of PREDICTED the
                             column `predicted`, where it has one
  a report.json              of rkv-real or rkv-sim, or the directory that holds it
  a directory of such        several runs, say of a sweep, of different transports or completions
MEASURED alone: a CSV file with a column `predicted` beside `value`.

The baseline is the Universal Scalability Law (USL), fitted to the same measured points. A prediction from
measurements with up to 10 clients should beat it above 10: that is what --fitted-clients 10 shows. Measured
values that no closed loop can have (clients / throughput below the mean latency) are left out and listed.

Examples:
  rkv-calibrate compare curves.csv predicted.csv --fitted-clients 10
  rkv-calibrate compare results/run/report results/run/simulated --out results/compared

--out makes DIR with errors.json, points.csv and the figure calibration.pdf and .png.
Exit status: 0 done; 1 failed; 2 bad input, nothing was written.)";

int run(const Options& options) {
  // All that can be wrong with the input comes before anything is written.
  if (!options.out.empty()) {
    check_free(options.out);
  }
  const Side measured = measured_side(options.measured);
  std::error_code error;
  if (options.predicted.empty() &&
      (!std::filesystem::is_regular_file(options.measured, error) ||
       options.measured.extension() == ".json" || !has_predictions(options.measured))) {
    throw InputError(
        fmt::format("{}: there are no predictions in it (a CSV file's column \"{}\"); give PREDICTED too",
                    options.measured.string(), predicted_column));
  }
  const Side predicted = predicted_side(options.predicted.empty() ? options.measured : options.predicted);
  const Comparison comparison = compare(measured, predicted, options.fitted_clients);
  for (const std::string& warning : measured.warnings) {
    fmt::print(stderr, "rkv-calibrate: {}\n", warning);
  }
  if (!options.predicted.empty()) {
    for (const std::string& warning : predicted.warnings) {
      fmt::print(stderr, "rkv-calibrate: {}\n", warning);
    }
  }
  std::fputs(comparison_table(comparison).c_str(), stdout);
  if (options.out.empty()) {
    return 0;
  }
  const std::string why = write_comparison(comparison, options.out);
  if (!why.empty()) {
    throw Error(fmt::format(
        "{} has errors.json and points.csv, but the figure could not be drawn: {}\nOnce that is mended: {}",
        options.out.string(), why, figure_command(options.out)));
  }
  fmt::print("\nErrors: {}\nFigure: {}, {}\n", (options.out / "errors.json").string(),
             (options.out / "calibration.pdf").string(), (options.out / "calibration.png").string());
  return 0;
}

}  // namespace

void add_compare(CLI::App& app, Run* run_command) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "compare", "Says how far predicted curves are from measured ones, beside a fitted law.");
  command->footer(footer);
  command->add_option("MEASURED", options->measured, "what was measured")->required();
  command->add_option("PREDICTED", options->predicted, "what was predicted, by a simulation for instance");
  command
      ->add_option(
          "--fitted-clients", options->fitted_clients,
          "the prediction was fitted to points with at most N clients: tell errors up to and above N")
      ->type_name("N")
      ->check(CLI::Range(1, 65536));
  command->add_option("--out", options->out, "make this directory with errors, points and figure")
      ->type_name("DIR");
  command->callback(
      [options, run_command] { *run_command = [options](const auto&) { return run(*options); }; });
}

}  // namespace rkv::calibration
