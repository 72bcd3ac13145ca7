// The places of all values that a schema describes.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace rkv::test {

inline void collect_leaves(const nlohmann::json& schema, const nlohmann::json::json_pointer& at,
                           std::set<std::string>& leaves) {
  for (const auto& [name, part] : schema["properties"].items()) {
    if (part.contains("properties")) {
      collect_leaves(part, at / name, leaves);
    } else {
      leaves.insert((at / name).to_string());
    }
  }
}

inline std::set<std::string> schema_leaves(const nlohmann::json& schema) {
  std::set<std::string> leaves;
  collect_leaves(schema, nlohmann::json::json_pointer(), leaves);
  return leaves;
}

}  // namespace rkv::test
