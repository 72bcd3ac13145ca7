// An address handle: where a datagram goes.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace rkv::soft {

struct AddressHandle {
  ibv_ah ibv;  // first
  ibv_ah_attr attributes;
  std::uint32_t destination;  // IPv4, in the host's byte order; 0: the GID stands for none

  static AddressHandle* from(ibv_ah* ah) { return reinterpret_cast<AddressHandle*>(ah); }
};

// 0, or EINVAL: RoCE needs a global route, over port 1 and a GID index that is not empty.
int check_address(const ibv_ah_attr& attributes);

}  // namespace rkv::soft
