// An address handle: where a datagram goes.
#pragma once

#include <infiniband/verbs.h>

namespace rkv::soft {

struct AddressHandle {
  ibv_ah ibv;  // first
  ibv_ah_attr attributes;
  bool local;  // the destination GID is this device's own

  static AddressHandle* from(ibv_ah* ah) { return reinterpret_cast<AddressHandle*>(ah); }
};

// 0, or EINVAL: RoCE needs a global route, over port 1 and a GID index that is not empty.
int check_address(const ibv_ah_attr& attributes);
bool is_local_destination(const ibv_ah_attr& attributes);

}  // namespace rkv::soft
