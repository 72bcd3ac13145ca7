// Documents laid over one another: a profile's base, the profile, values from the command line. Not
// thread-safe.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/document/problems.hpp"

namespace rkv::sim {

class Layers {
 public:
  // The documents that follow come from a file (or another text) of this name. Returns last_source().
  Problems& add_source(const std::string& source);

  // Where the problems of the source added last are collected; valid until the next one is added.
  [[nodiscard]] Problems& last_source() { return sources_.back().problems; }

  // Lays a document over those before it and checks it against the schema.
  void add(nlohmann::json document);

  // All documents merged; "server" and "client" have what "hosts" gave them. Name and description are the
  // last source's only: they don't fit what was made of it. Only once throw_if_any passed.
  [[nodiscard]] nlohmann::json merged() const;

  // Adds a problem with a value of the merged document, where a person wrote it: in the uppermost document
  // that gives it, be it under "hosts"; at the last source's when none does.
  void complain(const nlohmann::json::json_pointer& at, const std::string& text);

  // Throws InputError with all problems of all sources.
  void throw_if_any() const;

 private:
  struct Source {
    Problems problems;
    std::vector<nlohmann::json> documents;
  };
  std::vector<Source> sources_;
};

}  // namespace rkv::sim
