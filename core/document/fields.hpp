// Reads and writes single values of a document by their place. A list of all fields of a structure, written
// once as a template over either of the two, gives both directions. Not thread-safe.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

#include "core/document/enum_names.hpp"

namespace rkv {

// Values that the document gives go over those that are there. The document has passed its schema, and
// outlives the reader.
class FieldReader {
 public:
  using Pointer = nlohmann::json::json_pointer;

  explicit FieldReader(const nlohmann::json& document) : document_(document) {}

  template <typename T>
  void field(const Pointer& at, T& value) const {
    const nlohmann::json* const given = find(at);
    if (given == nullptr) {
      return;
    }
    if constexpr (std::is_enum_v<T>) {
      for (const auto& [candidate, word] : EnumNames<T>::values) {
        if (given->get_ref<const std::string&>() == word) {
          value = candidate;
        }
      }
    } else {
      given->get_to(value);
    }
  }

 protected:
  // Null where the document doesn't give the field.
  [[nodiscard]] const nlohmann::json* find(const Pointer& at) const {
    return document_.contains(at) ? &document_.at(at) : nullptr;
  }

 private:
  const nlohmann::json& document_;
};

// Writes into a document that outlives the writer.
class FieldWriter {
 public:
  using Pointer = nlohmann::json::json_pointer;

  explicit FieldWriter(nlohmann::json& document) : document_(document) {}

  template <typename T>
  void field(const Pointer& at, const T& value) {
    if constexpr (std::is_enum_v<T>) {
      place(at) = std::string(name_of(value));
    } else {
      place(at) = value;
    }
  }

 protected:
  [[nodiscard]] nlohmann::json& place(const Pointer& at) { return document_[at]; }

 private:
  nlohmann::json& document_;
};

}  // namespace rkv
