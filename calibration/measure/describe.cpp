#include "calibration/measure/describe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace rkv::calibration {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view statistic =
    "mean, each tenth at the ends counted as the value next to it; spread: interquartile range";
constexpr double noisy_part = 0.5;
constexpr std::string_view quick_warning = "--quick: a smoke test, too short to be trusted. ";

// Four digits, however large: 12.34, 1234, 4000000.
std::string number(double value) {
  if (value >= 1000) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

std::string shown(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string text_of(const ordered_json& document) {
  return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string description(const Findings& findings, const Circumstances& circumstances) {
  std::vector<std::string> measured;
  for (const Figure& figure : findings.figures) {
    for (const std::string& field : figure.fields) {
      if (std::find(measured.begin(), measured.end(), field) == measured.end()) measured.push_back(field);
    }
  }
  std::vector<std::string> told;
  for (const Observation& one : findings.observations) told.push_back(one.field);
  std::string text = fmt::format(
      "{}Measured by rkv-calibrate measure {} on {}, at {}: {}, {}{}; device {}. Each is the mean of "
      "interleaved repetitions; spreads and numbers of repetitions are in the file beside this one. "
      "Measured: "
      "{}. Told by Linux: {}. All else is as in {}.",
      circumstances.quick ? quick_warning : "", circumstances.run.program_version,
      circumstances.run.host_name, utc_text(circumstances.run.start_time),
      circumstances.run.machine.value("cpu_model", "unknown"), circumstances.run.machine.value("kernel", ""),
      circumstances.machine.virtual_machine ? ", a virtual machine" : "",
      circumstances.device.value("name", "none"), fmt::join(measured, ", "), fmt::join(told, ", "),
      circumstances.base);
  constexpr std::size_t longest = 8000;  // profile.schema.json
  if (text.size() > longest) text.resize(longest);
  return text;
}

std::string states_text(const Selection& selection) {
  if (!selection.states) return "";
  const States& states = *selection.states;
  return fmt::format(
      "\nThe machine was in two states: a cache line took {} or {} ns from one CPU to another.\n"
      "The figures are those of the {} one, {} of {} repetitions.\n",
      number(states.fast), number(states.slow), states.keeps_fast() ? "first" : "second", selection.kept,
      selection.repetitions);
}

}  // namespace

std::string table_of(const Findings& findings, const Circumstances& circumstances) {
  std::string text = circumstances.quick ? fmt::format("{}\n\n", quick_warning) : "";
  text += fmt::format("{:36} {:>10} {:>10} {:>6}  {:13} {}\n", "measured", "mean", "spread", "n", "unit",
                      "field");
  for (const Figure& figure : findings.figures) {
    text += fmt::format(
        "{:36} {:>10} {:>10} {:>6}  {:13} {}\n", figure.name, number(figure.estimate.value),
        number(figure.estimate.spread), figure.estimate.samples, figure.unit,
        figure.fields.empty() ? "- (a check)" : fmt::format("{}", fmt::join(figure.fields, ", ")));
  }
  text += "(spread: interquartile range)\n";
  std::vector<std::string> noisy;
  for (const Figure& figure : findings.figures) {
    if (figure.estimate.spread > noisy_part * figure.estimate.value) noisy.push_back(figure.name);
  }
  if (!noisy.empty()) {
    text += fmt::format("\nSpread over more than half the mean, measure again on a quiet machine: {}\n",
                        fmt::join(noisy, "; "));
  }
  text += states_text(circumstances.selection);
  text += "\nTold by Linux:\n";
  for (const Observation& one : findings.observations) {
    text += fmt::format("  {} = {} ({})\n", one.field, shown(one.value), one.source);
  }
  text += fmt::format("\nNot measured, as in {}:\n", circumstances.base);
  for (const Left& left : findings.left) text += fmt::format("  {}: {}\n", left.what, left.why);
  return text;
}

std::string profile_text(const Findings& findings, const Circumstances& circumstances) {
  ordered_json document{{"description", description(findings, circumstances)}};
  for (const char* part : {"hosts", "server", "client", "nic", "network", "tcp"}) {
    if (findings.profile.contains(part)) document[part] = findings.profile[part];
  }
  return text_of(document);
}

std::string measurements_text(const Findings& findings, const Circumstances& circumstances) {
  ordered_json document{{"run", run_info_json(circumstances.run)},
                        {"device", circumstances.device},
                        {"virtual_machine", circumstances.machine.virtual_machine},
                        {"cpus", circumstances.machine.cpus.all},
                        {"base", circumstances.base},
                        {"quick", circumstances.quick},
                        {"statistic", statistic}};
  if (const Selection& selection = circumstances.selection; selection.state_ns > 0) {
    document["state"] = {{"line_hand_over_ns", selection.state_ns},
                         {"kept_repetitions", selection.kept},
                         {"repetitions", selection.repetitions}};
    if (const auto& states = selection.states) {
      document["state"]["other_state_ns"] = states->keeps_fast() ? states->slow : states->fast;
    }
  }
  for (const Figure& figure : findings.figures) {
    document["figures"].push_back({{"name", figure.name},
                                   {"unit", figure.unit},
                                   {"value", figure.estimate.value},
                                   {"spread", figure.estimate.spread},
                                   {"samples", figure.estimate.samples},
                                   {"fields", figure.fields},
                                   {"how", figure.how}});
  }
  for (const Observation& one : findings.observations) {
    document["told_by_linux"].push_back({{"field", one.field}, {"value", one.value}, {"source", one.source}});
  }
  for (const Left& left : findings.left) {
    document["left_as_in_base"].push_back({{"what", left.what}, {"fields", left.fields}, {"why", left.why}});
  }
  return text_of(document);
}

}  // namespace rkv::calibration
