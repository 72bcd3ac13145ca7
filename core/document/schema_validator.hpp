// The JSON schema validator, kept apart because its headers are slow to compile.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace rkv {

// A place that a schema refuses, in the validator's own words. Lists and objects around it are named too.
struct Refusal {
  std::string pointer;
  std::string text;
};

// Thread-safe once made.
class SchemaValidator {
 public:
  // `schema`: JSON schema draft 7. It is not kept.
  explicit SchemaValidator(const nlohmann::json& schema);
  ~SchemaValidator();
  SchemaValidator(const SchemaValidator&) = delete;
  SchemaValidator& operator=(const SchemaValidator&) = delete;

  // Nothing when the schema accepts the document.
  [[nodiscard]] std::vector<Refusal> refusals(const nlohmann::json& document) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace rkv
