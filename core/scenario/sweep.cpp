#include "core/scenario/sweep.hpp"

#include <fmt/format.h>

#include <cctype>

#include "core/scenario/overrides.hpp"
#include "core/scenario/schema.hpp"

namespace rkv {
namespace {

using nlohmann::json;
using Pointer = json::json_pointer;

// Names name folders, so only what the schema allows in a name may come from a value.
std::string name_part(const json& value) {
  std::string part = value.is_string() ? value.get<std::string>() : value.dump();
  for (char& c : part) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-' && c != '_') {
      c = '_';
    }
  }
  return part;
}

bool check_axes(const json& sweep, Problems& problems) {
  if (!sweep.is_object() || sweep.empty()) {
    problems.add("/sweep", fmt::format("given {}; allowed: {}", shown(sweep),
                                       allowed(*scenario_schema().at(Pointer("/sweep")))));
    return false;
  }
  std::size_t combinations = 1;
  bool sound = true;
  for (const auto& [path, values] : sweep.items()) {
    const std::string at = (Pointer("/sweep") / path).to_string();
    const Pointer field = field_pointer(path, set_option);
    const std::string root = field.empty() ? "" : field.to_string().substr(1);
    if (field.empty() || scenario_schema().at(field) == nullptr || root == "sweep" ||
        root.starts_with("sweep/") || root == "name" || root == "clients") {
      problems.add(at, root == "clients" ? "clients is a list of points already; give /clients the list"
                                         : "not a field that can be swept; allowed: a path such as "
                                           "queue_pair.signal_interval (docs/scenario.md lists them)");
      sound = false;
    } else if (!values.is_array() || values.empty()) {
      problems.add(at, fmt::format("given {}; allowed: a list of values, 1 at least", shown(values)));
      sound = false;
    } else if (combinations *= values.size(); combinations > max_sweep_scenarios) {
      problems.add(
          at, fmt::format("makes {} combinations; allowed: {} at most", combinations, max_sweep_scenarios));
      return false;
    }
  }
  return sound;
}

}  // namespace

std::vector<SweepMember> expand_sweep(const nlohmann::json& document, const Problems& problems) {
  std::vector<SweepMember> members{{document, "", problems}};
  SweepMember& base = members.front();
  const auto sweep = document.find("sweep");
  if (sweep == document.end()) {
    return members;
  }
  base.document.erase("sweep");
  if (!check_axes(*sweep, base.problems)) {
    return members;
  }
  for (const auto& [path, values] : sweep->items()) {
    const Pointer field = field_pointer(path, set_option);
    std::vector<SweepMember> longer;
    for (const SweepMember& member : members) {
      for (const json& value : values) {
        SweepMember next = member;
        next.suffix += fmt::format("-{}={}", field.back(), name_part(value));
        next.problems.set_by_option(field.to_string(), fmt::format("sweep {}={}", path, shown(value)));
        if (check_field(scenario_schema(), field, next.problems)) {
          put_field(next.document, {field, value}, next.problems);
        }
        longer.push_back(std::move(next));
      }
    }
    members = std::move(longer);
  }
  return members;
}

}  // namespace rkv
