// A JSON schema: checks documents and says in words what a field may hold. Thread-safe once made.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/document/problems.hpp"
#include "core/document/schema_validator.hpp"

namespace rkv {

class Schema {
 public:
  // JSON schema draft 7. A "$ref" to a place in the text itself becomes what stands there; what is written
  // beside it comes first. (Such references must not form a circle.)
  explicit Schema(std::string_view text);

  // The whole schema, its references resolved.
  [[nodiscard]] const nlohmann::json& document() const { return document_; }

  // The part that describes the field, or null when there is no such field.
  [[nodiscard]] const nlohmann::json* at(const nlohmann::json::json_pointer& field) const;

  // Adds a problem for every field that the schema refuses.
  void check(const nlohmann::json& document, Problems& problems) const;

 private:
  nlohmann::json document_;
  SchemaValidator validator_;
};

// "a whole number from 1 to 16384 (receives posted ...)", of a part of a schema.
std::string allowed(const nlohmann::json& schema_part);

// The value as JSON, cut to a length that suits an error message.
std::string shown(const nlohmann::json& value);

}  // namespace rkv
