// JSON documents that persons write: text to a document, strictly, so that what a lenient parser would drop
// silently is refused.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace rkv {

inline constexpr std::size_t max_document_bytes = 1 << 20;  // a few KB are needed
inline constexpr int max_document_depth = 16;               // about 5 are needed

// What a file holds and where those of its kind are, for errors: {"scenario", "scenarios/"}.
struct DocumentKind {
  std::string_view name;
  std::string_view folder;
};

// Throws InputError: no such file, not readable, or what parse_document refuses.
nlohmann::json read_document(const std::filesystem::path& file, const DocumentKind& kind);

// Throws InputError: not JSON (with line and column), a field given twice, too long or too deeply nested.
// Safe on untrusted text. `source` names it in errors.
nlohmann::json parse_document(std::string_view text, const std::string& source);

// Whole numbers written as 1e6 or 4.0 become integers, as JSON schema takes them to be; integers beyond
// 64 bits signed become floating point, so that range checks see their size.
void normalise_numbers(nlohmann::json& value);

}  // namespace rkv
