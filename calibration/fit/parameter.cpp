#include "calibration/fit/parameter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.hpp"

namespace rkv::calibration {
namespace {

using nlohmann::json;

constexpr double default_factor = 10;  // of the bounds

// Where the value stands: once, or once a host.
std::vector<json::json_pointer> places(const std::string& path) {
  std::string rest = path;
  std::replace(rest.begin(), rest.end(), '.', '/');
  constexpr std::string_view both = "hosts/";
  if (rest.rfind(both, 0) != 0) return {json::json_pointer("/" + rest)};
  rest = rest.substr(both.size());
  return {json::json_pointer("/server/" + rest), json::json_pointer("/client/" + rest)};
}

std::vector<json::json_pointer> places(const Parameter& parameter) {
  std::vector<json::json_pointer> all = places(parameter.path);
  for (const std::string& path : parameter.also) {
    for (json::json_pointer& place : places(path)) all.push_back(std::move(place));
  }
  return all;
}

double base_value(const std::string& path, const json& profile, const std::string& source) {
  double value = 0;
  bool first = true;
  for (const json::json_pointer& place : places(path)) {
    if (!profile.contains(place)) {
      throw InputError(
          fmt::format("{}: a profile has no field {} (docs/profile.md lists them)", source, path));
    }
    const json& field = profile[place];
    if (!field.is_number() || field.get<double>() <= 0) {
      throw InputError(
          fmt::format("{}: {} is {} in the base profile, and only positive numbers can be fitted; give the "
                      "base profile a value",
                      source, path, field.dump()));
    }
    if (!first && field.get<double>() != value) {
      throw InputError(fmt::format("{}: {} differs between server ({}) and client ({}); name each by itself",
                                   source, path, value, field.get<double>()));
    }
    value = field.get<double>();
    first = false;
  }
  return value;
}

std::vector<Parameter> checked(std::vector<Parameter> parameters, const std::string& source) {
  if (parameters.empty()) throw InputError(fmt::format("{}: no parameters to fit", source));
  std::set<std::string> known;
  for (const Parameter& parameter : parameters) {
    for (const json::json_pointer& place : places(parameter)) {
      if (!known.insert(place.to_string()).second) {
        throw InputError(fmt::format("{}: {} is named twice", source, parameter.path));
      }
    }
    if (!(parameter.sigma > 0)) {
      throw InputError(fmt::format("{}: {}: sigma must be more than 0", source, parameter.path));
    }
    if (!(parameter.least > 0 && parameter.least < parameter.base && parameter.base < parameter.most)) {
      throw InputError(
          fmt::format("{}: {}: the base profile's value {} must lie between its bounds, {} and {}", source,
                      parameter.path, parameter.base, parameter.least, parameter.most));
    }
  }
  return parameters;
}

Parameter named(const std::string& path, const json& profile, const std::string& source) {
  Parameter parameter;
  parameter.path = path;
  parameter.base = base_value(path, profile, source);
  parameter.least = parameter.base / default_factor;
  parameter.most = parameter.base * default_factor;
  return parameter;
}

}  // namespace

std::vector<Parameter> named_parameters(const std::vector<std::string>& paths, const json& base_profile) {
  const std::string source = "--free";
  std::vector<Parameter> parameters;
  for (const std::string& path : paths) parameters.push_back(named(path, base_profile, source));
  return checked(std::move(parameters), source);
}

std::vector<Parameter> read_parameters(const std::filesystem::path& file, const json& base_profile) {
  const std::string source = file.string();
  std::ifstream in(file);
  if (!in) throw InputError(fmt::format("{}: can't be read", source));
  std::vector<Parameter> parameters;
  try {
    for (const json& item : json::parse(in)) {
      Parameter parameter = named(item.at("path"), base_profile, source);
      parameter.also = item.value("also", parameter.also);
      for (const std::string& path : parameter.also) {
        if (const double value = base_value(path, base_profile, source); value != parameter.base) {
          throw InputError(
              fmt::format("{}: {} is {} in the base profile and {}, which is to be the same, is {}", source,
                          parameter.path, parameter.base, path, value));
        }
      }
      parameter.sigma = item.value("sigma", parameter.sigma);
      parameter.least = item.value("least", parameter.least);
      parameter.most = item.value("most", parameter.most);
      parameter.why = item.value("why", "");
      parameters.push_back(std::move(parameter));
    }
  } catch (const json::exception& error) {
    throw InputError(
        fmt::format("{}: must be a list of objects with a \"path\" each: {}", source, error.what()));
  }
  return checked(std::move(parameters), source);
}

namespace {

bool concerns(const std::string& field, const std::string& transport) {
  const std::string path = "." + field + ".";
  if (path.find("." + transport + ".") != std::string::npos) return true;
  for (const char* other : {".tcp.", ".rc.", ".uc.", ".ud."}) {
    if (path.find(other) != std::string::npos) return false;
  }
  return transport != "tcp" || path.rfind(".nic.", 0) != 0;
}

}  // namespace

bool concerns(const Parameter& parameter, const std::string& transport) {
  return concerns(parameter.path, transport) ||
         std::any_of(parameter.also.begin(), parameter.also.end(),
                     [&](const std::string& path) { return concerns(path, transport); });
}

json with_values(const json& base_profile, const std::vector<Parameter>& parameters,
                 const std::vector<double>& values) {
  json profile = base_profile;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    for (const json::json_pointer& place : places(parameters[i])) {
      // A whole number stays one: bytes, counts.
      if (profile[place].is_number_integer() && parameters[i].path.find("_ns") == std::string::npos) {
        profile[place] = static_cast<std::int64_t>(values[i] + 0.5);
      } else {
        profile[place] = values[i];
      }
    }
  }
  return profile;
}

}  // namespace rkv::calibration
