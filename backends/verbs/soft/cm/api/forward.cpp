#include "backends/verbs/soft/cm/api/forward.hpp"

#include <cstdlib>
#include <string_view>

namespace rkv::soft::cm {
namespace {

bool choose() {
  if (const char* wish = std::getenv("RKV_SOFT_CM"); wish != nullptr) return std::string_view(wish) == "1";
  int count = 0;
  ibv_device** const real = RKV_SOFT_NEXT(ibv_get_device_list, "IBVERBS_1.1", &count);
  if (real == nullptr) return true;
  RKV_SOFT_NEXT(ibv_free_device_list, "IBVERBS_1.1", real);
  return count == 0;
}

}  // namespace

bool serves() {
  static const bool ours = choose();
  return ours;
}

}  // namespace rkv::soft::cm
