#include "core/scenario/schema.hpp"

#include <string_view>

namespace rkv {

std::string_view scenario_schema_text();  // made by CMake

const Schema& scenario_schema() {
  static const Schema schema(scenario_schema_text());
  return schema;
}

}  // namespace rkv
