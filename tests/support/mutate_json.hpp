// Makes one random change somewhere in a JSON value: what a broken or hostile peer might send.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>

namespace rkv::test {

inline nlohmann::json random_json(std::mt19937_64& random) {
  switch (random() % 10) {
    case 0:
      return nullptr;
    case 1:
      return random();
    case 2:
      return static_cast<std::int64_t>(random() % 200) - 100;
    case 3:
      return -1e300;
    case 8:
      return 1e300;
    case 4:
      return "text";
    case 5:
      return "99999999999999999999999999999999999999999999";
    case 6:
      return nlohmann::json::array({1, 2});
    case 7:
      return nlohmann::json::object();
    default:
      return true;
  }
}

inline void mutate(nlohmann::json& value, std::mt19937_64& random) {
  if (value.is_structured() && !value.empty() && random() % 4 != 0) {
    auto child = value.begin();
    std::advance(child, static_cast<std::ptrdiff_t>(random() % value.size()));
    if (random() % 8 == 0) {
      value.erase(child);
    } else {
      mutate(*child, random);
    }
  } else {
    value = random_json(random);
  }
}

}  // namespace rkv::test
