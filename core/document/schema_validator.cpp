#include "core/document/schema_validator.hpp"

#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace rkv {
namespace {

using nlohmann::json;

// The validator names a place as "<root>", "[field]", "[3]".
std::string pointer_of(const std::vector<std::string>& context) {
  json::json_pointer pointer;
  for (const std::string& part : context) {
    if (part.starts_with('[')) {
      pointer.push_back(part.substr(1, part.size() - 2));
    }
  }
  return pointer.to_string();
}

}  // namespace

struct SchemaValidator::Compiled {
  valijson::Schema schema;
};

SchemaValidator::SchemaValidator(const nlohmann::json& schema) : compiled_(std::make_unique<Compiled>()) {
  const valijson::adapters::NlohmannJsonAdapter adapter(schema);
  valijson::SchemaParser parser;
  parser.populateSchema(adapter, compiled_->schema);
}

SchemaValidator::~SchemaValidator() = default;

std::vector<Refusal> SchemaValidator::refusals(const nlohmann::json& document) const {
  valijson::Validator validator;
  valijson::ValidationResults results;
  const valijson::adapters::NlohmannJsonAdapter adapter(document);
  std::vector<Refusal> refusals;
  if (!validator.validate(compiled_->schema, adapter, &results)) {
    for (const auto& error : results) {
      refusals.push_back({pointer_of(error.context), error.description});
    }
  }
  return refusals;
}

}  // namespace rkv
