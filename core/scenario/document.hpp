// JSON text to a document, strictly: what a lenient parser would drop silently is refused.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace rkv {

inline constexpr std::size_t max_document_bytes = 1 << 20;  // a scenario needs a few KB
inline constexpr int max_document_depth = 16;               // a scenario needs 4

// Throws InputError: not JSON (with line and column), a field given twice, too long or too deeply nested.
// Safe on untrusted text. `source` names it in errors.
nlohmann::json parse_document(std::string_view text, const std::string& source);

// Whole numbers written as 1e6 or 4.0 become integers, as JSON schema takes them to be; integers beyond
// 64 bits signed become floating point, so that range checks see their size.
void normalise_numbers(nlohmann::json& value);

}  // namespace rkv
