#include "calibration/measure/other_threads.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <vector>

#include "calibration/measure/text_of_file.hpp"

namespace rkv::calibration {
namespace {

constexpr double long_turn_ns = 100'000;
// sched_prio_to_weight, kernel/sched/core.c: "the 10% effect", rounded there.
constexpr double weight_a_step = 1.25;
// Of stat, proc(5), from the one behind the name on, which is the third.
constexpr std::size_t nice_field = 19 - 3;
constexpr std::size_t policy_field = 41 - 3;

// Of a line "key : value".
std::optional<std::uint64_t> number_behind(const std::string& text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string::npos) return {};
  std::istringstream rest(text.substr(at + key.size()));
  char colon = 0;
  std::uint64_t number = 0;
  if (!(rest >> colon >> number) || colon != ':') return {};
  return number;
}

}  // namespace

std::optional<OtherThread> other_thread(const std::string& stat, const std::string& schedstat,
                                        const std::string& status, const std::string& sched) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream rest(stat.substr(name_end + 1));
  const std::vector<std::string> fields{std::istream_iterator<std::string>(rest), {}};
  if (fields.size() <= policy_field || fields[policy_field] != "0") return {};
  OtherThread thread;
  std::istringstream nice(fields[nice_field]);
  std::istringstream times(schedstat);
  const auto turns = number_behind(status, "\nvoluntary_ctxt_switches");
  if (!(nice >> thread.nice) || !(times >> thread.ran_ns) || !turns) return {};
  thread.turns = *turns;
  thread.moves = number_behind(sched, "se.nr_migrations");
  return thread;
}

OtherThreads other_threads() {
  namespace fs = std::filesystem;
  OtherThreads threads;
  std::error_code gone;
  for (const auto& process : fs::directory_iterator("/proc", gone)) {
    const std::string pid = process.path().filename();
    if (!std::all_of(pid.begin(), pid.end(), [](char c) { return c >= '0' && c <= '9'; })) continue;
    if (pid == std::to_string(::getpid())) continue;
    fs::directory_iterator tasks(process.path() / "task", gone);
    for (; !gone && tasks != fs::directory_iterator(); tasks.increment(gone)) {
      const fs::path& files = tasks->path();
      const auto thread = other_thread(text_of_file(files / "stat"), text_of_file(files / "schedstat"),
                                       text_of_file(files / "status"), text_of_file(files / "sched"));
      if (thread) threads.emplace(std::stoi(files.filename()), *thread);
    }
  }
  return threads;
}

std::optional<LongTurns> long_turns(const OtherThreads& before, const OtherThreads& after) {
  double ran_ns = 0;
  double heavy_ns = 0;
  double weight_ns = 0;
  double turns_counted = 0;
  double moves = 0;
  for (const auto& [id, now] : after) {
    const auto then = before.find(id);
    if (then == before.end() || now.turns <= then->second.turns) continue;
    const double own_ns = now.ran_ns - then->second.ran_ns;
    const auto turns = static_cast<double>(now.turns - then->second.turns);
    if (own_ns < long_turn_ns * turns) continue;
    ran_ns += own_ns;
    if (now.nice < 0) {
      heavy_ns += own_ns;
      weight_ns += own_ns * std::pow(weight_a_step, -now.nice);
    }
    if (now.moves && then->second.moves) {
      turns_counted += turns;
      moves += static_cast<double>(*now.moves - *then->second.moves);
    }
  }
  if (ran_ns <= 0) return {};
  LongTurns turns{.heavy_part = heavy_ns / ran_ns, .weight = {}, .changing = {}};
  if (heavy_ns > 0) turns.weight = weight_ns / heavy_ns;
  if (turns_counted > 0) turns.changing = std::min((moves + 1) / (turns_counted + 2), 1.0);
  return turns;
}

}  // namespace rkv::calibration
