// This process's place on the network: a UDP socket on RoCEv2's port, bound to an address of the process's
// own, which is its GID, too.
//
// The address is RKV_SOFT_ADDRESS (IPv4, one of this host's) or, without it, the first free one of 127.0.0.1,
// 127.0.0.2, ... It is taken when the device is first opened, and kept until the process ends.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace rkv::soft::wire {

class Endpoint {
 public:
  // Once a process, thread-safe. False, with errno and after a line on stderr: the address asked for can't be
  // had. Where none was asked for and none can be had, a line says so and the process has no network: it
  // reaches itself only.
  static bool open();
  // After open(); before, an endpoint without a network, on 127.0.0.1.
  static const Endpoint& instance();

  // In the host's byte order.
  std::uint32_t address() const { return address_; }
  bool has_network() const { return socket_ >= 0; }
  // Where packets come; who receives says MSG_DONTWAIT.
  int socket() const { return socket_; }
  // A socket to send from, at this address and a port of its own, which the caller closes. -1, with errno and
  // `port` as it was: there is none. Sends block.
  int open_sender(std::uint16_t& port) const;
  // The largest path MTU of RoCE whose packets the interface carries whole.
  ibv_mtu mtu() const { return mtu_; }

 private:
  friend struct EndpointOpening;
  std::uint32_t address_ = 0x7f'00'00'01;
  int socket_ = -1;
  ibv_mtu mtu_ = IBV_MTU_4096;
};

// The IPv4 address in an IPv4-mapped GID, in the host's byte order; 0: it is another kind of GID.
std::uint32_t address_of(const ibv_gid& gid);
ibv_gid gid_of(std::uint32_t address);

}  // namespace rkv::soft::wire
