#include "backends/verbs/soft/verbs/address_handle.hpp"

#include <cerrno>

#include "backends/verbs/soft/verbs/limits.hpp"

namespace rkv::soft {

int check_address(const ibv_ah_attr& attributes) {
  const bool valid = attributes.is_global == 1 && attributes.port_num == limits::port_num &&
                     attributes.grh.sgid_index < limits::valid_gids && attributes.sl < 16;
  return valid ? 0 : EINVAL;
}

}  // namespace rkv::soft
