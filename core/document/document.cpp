#include "core/document/document.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace rkv {
namespace {

std::string read_text(const std::filesystem::path& file, const DocumentKind& kind) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    throw InputError(fmt::format("{}: no such {} file; the ones that come with rkv are in {}", file.string(),
                                 kind.name, kind.folder));
  }
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) {
    throw InputError(
        fmt::format("{}: the {} file can't be read; check its permissions", file.string(), kind.name));
  }
  return std::move(text).str();
}

}  // namespace

nlohmann::json read_document(const std::filesystem::path& file, const DocumentKind& kind) {
  return parse_document(read_text(file, kind), file.string());
}

nlohmann::json parse_document(std::string_view text, const std::string& source) {
  using nlohmann::json;
  if (text.size() > max_document_bytes) {
    throw InputError(
        fmt::format("{}: /: given {} bytes; allowed: {} at most", source, text.size(), max_document_bytes));
  }
  std::vector<std::set<std::string>> open_objects;
  const auto callback = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > max_document_depth) {
      throw InputError(fmt::format("{}: /: nested more than {} levels deep", source, max_document_depth));
    }
    if (event == json::parse_event_t::object_start) {
      open_objects.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      open_objects.pop_back();
    } else if (event == json::parse_event_t::key) {
      const auto name = parsed.get<std::string>();
      if (!open_objects.back().insert(name).second) {
        throw InputError(
            fmt::format("{}: /: the field \"{}\" is given twice in one object; remove one", source, name));
      }
    }
    return true;
  };
  json document;
  try {
    document = json::parse(text, callback);
  } catch (const json::exception& error) {
    throw InputError(fmt::format("{}: /: not valid JSON: {}", source, error.what()));
  }
  if (!document.is_object()) {
    throw InputError(fmt::format("{}: /: given {}; allowed: one JSON object", source, document.type_name()));
  }
  return document;
}

void normalise_numbers(nlohmann::json& value) {
  constexpr double exact =
      9007199254740992.0;  // 2^53: beyond it a double no longer tells whole numbers apart
  if (value.is_structured()) {
    for (auto& child : value) {
      normalise_numbers(child);
    }
  } else if (value.is_number_float()) {
    const double number = value.get<double>();
    if (std::abs(number) <= exact && std::trunc(number) == number) {
      value = static_cast<std::int64_t>(number);
    }
  } else if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      value = static_cast<double>(number);
    }
  }
}

}  // namespace rkv
