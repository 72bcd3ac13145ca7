#include "core/scenario/schema_validator.hpp"

#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "core/scenario/schema.hpp"

namespace rkv {
namespace {

using nlohmann::json;

const valijson::Schema& compiled_schema() {
  static const valijson::Schema* const schema = [] {
    static valijson::Schema parsed;
    const json document = json::parse(scenario_schema_text());
    const valijson::adapters::NlohmannJsonAdapter adapter(document);
    valijson::SchemaParser parser;
    parser.populateSchema(adapter, parsed);
    return &parsed;
  }();
  return *schema;
}

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

std::vector<Refusal> refusals_by_schema(const nlohmann::json& document) {
  valijson::Validator validator;
  valijson::ValidationResults results;
  const valijson::adapters::NlohmannJsonAdapter adapter(document);
  std::vector<Refusal> refusals;
  if (!validator.validate(compiled_schema(), adapter, &results)) {
    for (const auto& error : results) {
      refusals.push_back({pointer_of(error.context), error.description});
    }
  }
  return refusals;
}

}  // namespace rkv
