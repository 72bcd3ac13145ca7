#include "calibration/compare/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "calibration/curves/output_file.hpp"
#include "calibration/curves/write_points.hpp"
#include "core/error.hpp"

namespace rkv::calibration {
namespace {

using nlohmann::ordered_json;

// Debian's own Python, which has seaborn by its packages.
constexpr const char* python = "/usr/bin/python3";
constexpr const char* script = RKV_PLOTS "/calibration.py";

ordered_json json_of(const ShapeError& shape) {
  return {{"kind", shape.kind == ShapeError::Kind::peak ? "peak" : "plateau"},
          {"measured_height_ops_s", shape.measured_height},
          {"predicted_height_ops_s", shape.predicted_height},
          {"height_error_percent", shape.height_error_percent()},
          {"measured_clients", shape.measured_clients},
          {"predicted_clients", shape.predicted_clients},
          {"grid_steps", shape.grid_steps}};
}

ordered_json json_of(const std::optional<CurveErrors>& errors) {
  if (!errors) {
    return nullptr;
  }
  ordered_json json{{"mean_absolute_error_percent", errors->mean_absolute_error_percent},
                    {"worst",
                     {{"clients", errors->worst.clients},
                      {"measured", errors->worst.measured},
                      {"predicted", errors->worst.predicted},
                      {"error_percent", errors->worst.error_percent()}}}};
  if (errors->shape) {
    json["shape"] = json_of(*errors->shape);
  }
  return json;
}

const char* word_of(Range range) {
  switch (range) {
    case Range::fitted:
      return "fitted";
    case Range::beyond:
      return "beyond";
    case Range::all:
      break;
  }
  return "all";
}

ordered_json json_of(const CurveKey& key) {
  ordered_json json{{"transport", key.transport}, {"completion", key.completion}, {"metric", key.metric}};
  if (!key.scenario.empty()) json["scenario"] = key.scenario;
  return json;
}

ordered_json json_of(const CurveComparison& curve) {
  ordered_json json = json_of(curve.key);
  json["usl"] = nullptr;
  if (curve.usl) {
    json["usl"] = {
        {"lambda_ops_s", curve.usl->lambda_ops_s}, {"sigma", curve.usl->sigma}, {"kappa", curve.usl->kappa}};
  }
  for (const RangeErrors& errors : curve.ranges) {
    json["errors"][word_of(errors.range)] = {{"points", errors.predicted ? errors.predicted->points : 0},
                                             {"predicted", json_of(errors.predicted)},
                                             {"usl", json_of(errors.usl)}};
  }
  return json;
}

ordered_json json_of(const std::vector<CurveKey>& keys) {
  ordered_json json = ordered_json::array();
  for (const CurveKey& key : keys) {
    json.push_back(json_of(key));
  }
  return json;
}

// Every measured and every predicted point of the compared curves.
void write_compared_points(const Comparison& comparison, const std::filesystem::path& file) {
  std::vector<Point> points;
  std::vector<std::optional<double>> predicted;
  for (const CurveComparison& curve : comparison.curves) {
    std::map<std::uint32_t, std::pair<std::optional<double>, std::optional<double>>> values;
    for (const Sample& sample : curve.measured) values[sample.clients].first = sample.value;
    for (const Sample& sample : curve.predicted) values[sample.clients].second = sample.value;
    for (const auto& [clients, both] : values) {
      points.push_back({.transport = curve.key.transport,
                        .completion = curve.key.completion,
                        .clients = clients,
                        .metric = curve.key.metric,
                        .value = both.first,
                        .spread = {},
                        .scenario = curve.key.scenario});
      predicted.push_back(both.second);
    }
  }
  write_points(file, points, predicted);
}

// What the script complained about; nothing when it drew the figures.
std::string draw(const std::filesystem::path& directory) {
  const auto complaints = directory / ".complaints";
  std::array<std::string, 6> words{python, "-B", script, directory.string(), "--out", directory.string()};
  std::array<char*, words.size() + 1> arguments{};
  std::ranges::transform(words, arguments.begin(), [](std::string& word) { return word.data(); });
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  // Its output is the files' names in a directory that is about to be renamed.
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, complaints.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0666);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, python, &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  std::string why;
  if (failed != 0) {
    why = fmt::format("{}: {}", python, std::strerror(failed));
  } else {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      std::ifstream file(complaints);
      for (std::string line; std::getline(file, line);) {
        why = line;  // the last one names the error, whether it is a message or a traceback
      }
      if (why.empty()) {
        why = fmt::format("{} failed", script);
      }
    }
  }
  std::error_code ignored;
  std::filesystem::remove(complaints, ignored);
  return why;
}

// A directory that is removed again unless it was put where it belongs.
class Staging {
 public:
  explicit Staging(const std::filesystem::path& target) : target_(target) {
    std::error_code error;
    if (target.has_parent_path()) {
      std::filesystem::create_directories(target.parent_path(), error);
    }
    std::string name =
        (target.parent_path() / fmt::format(".{}.XXXXXX", target.filename().string())).string();
    if (error || ::mkdtemp(name.data()) == nullptr) {
      throw Error(fmt::format("cannot make a directory beside {}: {}", target.string(),
                              error ? error.message() : std::strerror(errno)));
    }
    path_ = name;
    std::filesystem::permissions(path_, std::filesystem::perms(0755), error);
  }
  ~Staging() {
    if (!path_.empty()) {
      std::error_code ignored;
      std::filesystem::remove_all(path_, ignored);
    }
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  // Takes the place of an empty directory, fails where there is anything else.
  void put_in_place() {
    std::error_code error;
    std::filesystem::rename(path_, target_, error);
    if (error) {
      throw Error(fmt::format("cannot make {}: {}", target_.string(), error.message()));
    }
    path_.clear();
  }

 private:
  std::filesystem::path target_;
  std::filesystem::path path_;
};

// Without a slash at its end, so that it has a name.
std::filesystem::path normal(const std::filesystem::path& directory) {
  const auto path = std::filesystem::absolute(directory).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

ordered_json comparison_json(const Comparison& comparison) {
  ordered_json json{{"measured", comparison.measured_source},
                    {"predicted", comparison.predicted_source},
                    {"fitted_clients", nullptr},
                    {"outstanding", comparison.outstanding},
                    {"metrics", ordered_json::array()},
                    {"curves", ordered_json::array()},
                    {"only_measured", json_of(comparison.only_measured)},
                    {"only_predicted", json_of(comparison.only_predicted)},
                    {"left_out", ordered_json::array()}};
  if (comparison.fitted_clients) {
    json["fitted_clients"] = *comparison.fitted_clients;
  }
  for (const MetricErrors& errors : comparison.metrics) {
    json["metrics"].push_back({{"metric", errors.metric},
                               {"range", word_of(errors.range)},
                               {"points", errors.points},
                               {"predicted_mean_absolute_error_percent", errors.predicted_percent},
                               {"usl_mean_absolute_error_percent", nullptr}});
    if (errors.usl_percent) {
      json["metrics"].back()["usl_mean_absolute_error_percent"] = *errors.usl_percent;
    }
  }
  for (const CurveComparison& curve : comparison.curves) {
    json["curves"].push_back(json_of(curve));
  }
  for (const ClosedLoopViolation& violation : comparison.left_out) {
    json["left_out"].push_back({{"transport", violation.transport},
                                {"completion", violation.completion},
                                {"clients", violation.clients},
                                {"throughput_ops_s", violation.throughput_ops_s},
                                {"latency_mean_us", violation.latency_mean_us},
                                {"least_us", violation.least_us}});
  }
  return json;
}

void check_free(const std::filesystem::path& directory) {
  std::error_code error;
  if (!std::filesystem::exists(directory, error)) {
    return;
  }
  if (!std::filesystem::is_directory(directory, error)) {
    throw InputError(fmt::format("--out {}: this is not a directory", directory.string()));
  }
  if (!std::filesystem::is_empty(directory, error) || error) {
    throw InputError(fmt::format(
        "--out {}: there is something in it already, and results are never overwritten; name a directory "
        "that does not exist or is empty",
        directory.string()));
  }
}

std::string figure_command(const std::filesystem::path& directory) {
  return fmt::format("{} -B {} {} --out {}", python, script, directory.string(), directory.string());
}

std::string write_comparison(const Comparison& comparison, const std::filesystem::path& directory) {
  Staging staging(normal(directory));
  replace_file(
      staging.path() / "errors.json",
      comparison_json(comparison).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  write_compared_points(comparison, staging.path() / "points.csv");
  std::string why = draw(staging.path());
  staging.put_in_place();
  return why;
}

}  // namespace rkv::calibration
