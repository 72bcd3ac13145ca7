// rkv-calibrate: makes a profile of a machine, and says how far predictions made with it can be trusted.
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "calibration/rkv_calibrate/command.hpp"
#include "core/error.hpp"
#include "core/report/version.hpp"

namespace {

constexpr const char* description =
    "rkv-calibrate measures machines, fits the simulator's profiles to measured curves, predicts past what "
    "was\nmeasured and compares.";

int run(int argc, char** argv) {
  CLI::App app{description, "rkv-calibrate"};
  app.footer(
      "rkv-calibrate COMMAND --help explains each.\nExit status: 0 done; 1 failed; 2 bad input, nothing was "
      "written.");
  app.set_version_flag("--version", std::string(rkv::program_version()));
  app.require_subcommand(1);
  rkv::calibration::Run command;
  rkv::calibration::add_measure(app, &command);
  rkv::calibration::add_watch(app, &command);
  rkv::calibration::add_fit(app, &command);
  rkv::calibration::add_predict(app, &command);
  rkv::calibration::add_compare(app, &command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return command({argv, argv + argc});
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const rkv::InputError& error) {
    fmt::print(stderr, "rkv-calibrate: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "rkv-calibrate: {}\n", error.what());
    return 1;
  }
}
