#include "backends/sim/profile/schema.hpp"

#include <string_view>

namespace rkv {

std::string_view profile_schema_text();  // made by CMake

}  // namespace rkv

namespace rkv::sim {

const Schema& profile_schema() {
  static const Schema schema(profile_schema_text());
  return schema;
}

}  // namespace rkv::sim
