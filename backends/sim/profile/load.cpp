#include "backends/sim/profile/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "backends/sim/profile/check.hpp"
#include "backends/sim/profile/fields.hpp"
#include "backends/sim/profile/layers.hpp"
#include "backends/sim/profile/schema.hpp"
#include "core/document/document.hpp"
#include "core/document/name.hpp"
#include "core/document/problems.hpp"

namespace rkv::sim {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr DocumentKind profile_kind{"profile", "calibration/profiles/"};

struct File {
  fs::path path;
  json document;             // without "base" where that is the next file
  std::string base_problem;  // empty: none
};

// The file, its base, the base's base ...
std::vector<File> read_chain(const fs::path& file) {
  std::vector<File> chain;
  fs::path next = file;
  while (true) {
    File& current = chain.emplace_back(File{next, read_document(next, profile_kind), ""});
    const auto base = current.document.find("base");
    if (base == current.document.end() || !base->is_string()) {
      return chain;
    }
    next = current.path.parent_path() / base->get_ref<const std::string&>();
    std::error_code error;
    if (!fs::is_regular_file(next, error)) {
      current.base_problem =
          fmt::format("given {}: no such file; allowed: a profile's path, starting from this file's folder",
                      shown(*base));
      return chain;
    }
    if (std::any_of(chain.begin(), chain.end(),
                    [&](const File& other) { return fs::equivalent(other.path, next, error); })) {
      current.base_problem =
          fmt::format("given {}, which has this file as its base; allowed: one that has not", shown(*base));
      return chain;
    }
    current.document.erase("base");
  }
}

void add_override(const std::string& text, Layers& layers) {
  Problems& problems = layers.last_source();
  if (auto given = parse_override(profile_schema(), text, profile_set_option, problems)) {
    if (given->field.to_string() == "/base") {
      problems.add("/base", "can't be set on the command line; allowed: in a file");
      return;
    }
    json document = json::object();
    document[given->field] = std::move(given->value);
    layers.add(std::move(document));
  }
}

Profile resolve(Layers& layers, const std::string& default_name) {
  layers.throw_if_any();
  json document = layers.merged();
  if (!document.contains("name")) {
    document["name"] = default_name;
  }
  Profile profile = read_fields(document);
  check_profile(profile,
                [&](const json::json_pointer& at, const std::string& text) { layers.complain(at, text); });
  check_name("/name", profile.name, name_signs, layers.last_source());
  layers.throw_if_any();
  return profile;
}

}  // namespace

Profile load_profile(const std::filesystem::path& file, const std::vector<std::string>& overrides) {
  std::vector<File> chain = read_chain(file);
  Layers layers;
  for (auto part = chain.rbegin(); part != chain.rend(); ++part) {
    Problems& problems = layers.add_source(part->path.string());
    if (!part->base_problem.empty()) {
      problems.add("/base", part->base_problem);
    }
    layers.add(std::move(part->document));
  }
  for (const std::string& text : overrides) {
    add_override(text, layers);
  }
  return resolve(layers, name_from(file.stem().string(), "profile"));
}

Profile parse_profile(std::string_view json_text, const std::string& source) {
  json document = parse_document(json_text, source);
  Layers layers;
  Problems& problems = layers.add_source(source);
  if (document.contains("base")) {
    problems.add("/base", "not allowed here: one complete profile is needed");
    document.erase("base");
  }
  layers.add(std::move(document));
  return resolve(layers, "profile");
}

nlohmann::json to_json(const Profile& profile) {
  return write_fields(profile);
}

}  // namespace rkv::sim
