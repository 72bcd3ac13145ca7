// The parameters that a fit may change: values of a profile, with what was believed of them before.
//
// All are positive and fitted on a logarithmic scale. The prior is log-normal: `sigma` = 0.5 says that,
// before the measurements, the value was believed to be within a factor of e^0.5 of the base profile's, two
// times out of three.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace rkv::calibration {

struct Parameter {
  // Dotted path into the profile (nic.uc.send_ns). "hosts." stands for both server and client.
  std::string path;
  std::vector<std::string> also = {};  // further fields, which have the same value
  double base = 0;                     // the base profile's value
  double sigma = 0.5;
  double least = 0;  // bounds of the value
  double most = 0;
  std::string why;  // its physical meaning and what the bounds rest on; may be empty
};

// The parameters of a file, or those named by path, with the base profile's (complete) values. Without a
// sigma: 0.5; without bounds: base / 10 and base * 10. The file is a JSON list of objects with "path" and, as
// wanted, "also" (a list of paths), "sigma", "least", "most", "why". Throws InputError: no such field, one
// that is no positive number in the base profile, one that differs between the hosts where "hosts." was said
// or among "also", one that is named twice, and bounds that don't hold the base value.
[[nodiscard]] std::vector<Parameter> read_parameters(const std::filesystem::path& file,
                                                     const nlohmann::json& base_profile);
[[nodiscard]] std::vector<Parameter> named_parameters(const std::vector<std::string>& paths,
                                                      const nlohmann::json& base_profile);

// Whether it can have any influence on curves of this transport: fields of other transports have none.
[[nodiscard]] bool concerns(const Parameter& parameter, const std::string& transport);

// The profile with these values instead of the base's, one a parameter.
[[nodiscard]] nlohmann::json with_values(const nlohmann::json& base_profile,
                                         const std::vector<Parameter>& parameters,
                                         const std::vector<double>& values);

}  // namespace rkv::calibration
