// The subcommands of rkv-calibrate, each in a folder of its own under calibration/.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace rkv::calibration {

// What carries a subcommand out: gives the exit code. It is told the command line as given, for the record.
// Throws InputError for bad input, before anything is started or written, rkv::Error later.
using Run = std::function<int(const std::vector<std::string>& command_line)>;

// Each adds its subcommand to the command line and sets *run when it was asked for.
void add_measure(CLI::App& app, Run* run);
void add_watch(CLI::App& app, Run* run);
void add_fit(CLI::App& app, Run* run);
void add_predict(CLI::App& app, Run* run);
void add_compare(CLI::App& app, Run* run);

}  // namespace rkv::calibration
