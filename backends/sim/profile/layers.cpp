#include "backends/sim/profile/layers.hpp"

#include <algorithm>
#include <utility>

#include "backends/sim/profile/schema.hpp"
#include "core/document/document.hpp"
#include "core/error.hpp"

namespace rkv::sim {
namespace {

using nlohmann::json;
using Pointer = json::json_pointer;

// Without the nulls that take a known field out of a lower layer, which the schema can't allow.
json without_nulls(const json& document, const Pointer& at) {
  if (!document.is_object()) {
    return document;
  }
  json result = json::object();
  for (const auto& [name, value] : document.items()) {
    if (!value.is_null() || profile_schema().at(at / name) == nullptr) {
      result[name] = without_nulls(value, at / name);
    }
  }
  return result;
}

// /hosts/... for /server/... and /client/...; the same for others.
Pointer in_hosts(const Pointer& at) {
  const std::string text = at.to_string();
  if (text.starts_with("/server/") || text.starts_with("/client/")) {
    return Pointer("/hosts" + text.substr(text.find('/', 1)));
  }
  return at;
}

}  // namespace

Problems& Layers::add_source(const std::string& source) {
  sources_.push_back({Problems(source), {}});
  return last_source();
}

void Layers::add(nlohmann::json document) {
  normalise_numbers(document);
  Source& source = sources_.back();
  profile_schema().check(without_nulls(document, Pointer()), source.problems);
  source.documents.push_back(std::move(document));
}

nlohmann::json Layers::merged() const {
  json result = json::object();
  for (const Source& source : sources_) {
    result.erase("name");
    result.erase("description");
    for (json document : source.documents) {
      if (const auto hosts = document.find("hosts"); hosts != document.end()) {
        result.merge_patch({{"server", *hosts}, {"client", *hosts}});
        document.erase("hosts");
      }
      result.merge_patch(document);
    }
  }
  return result;
}

void Layers::complain(const nlohmann::json::json_pointer& at, const std::string& text) {
  const auto add_once = [&](Source& source, const Pointer& place) {
    const std::string pointer = place.to_string();
    const std::vector<Problem>& all = source.problems.all();
    if (std::none_of(all.begin(), all.end(), [&](const Problem& problem) {
          return problem.pointer == pointer && problem.text == text;
        })) {
      source.problems.add(pointer, text);
    }
  };
  for (auto source = sources_.rbegin(); source != sources_.rend(); ++source) {
    for (auto document = source->documents.rbegin(); document != source->documents.rend(); ++document) {
      for (const Pointer& place : {at, in_hosts(at)}) {
        if (document->contains(place)) {
          add_once(*source, place);
          return;
        }
      }
    }
  }
  add_once(sources_.back(), at);
}

void Layers::throw_if_any() const {
  std::string message;
  for (const Source& source : sources_) {
    const std::string part = source.problems.message();
    message += (message.empty() || part.empty() ? "" : "\n") + part;
  }
  if (!message.empty()) {
    throw InputError(message);
  }
}

}  // namespace rkv::sim
