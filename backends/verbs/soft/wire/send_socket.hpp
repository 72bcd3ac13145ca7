// A socket that packets leave by: from this process's address and a port of the socket's own, as RoCEv2
// leaves it to the sender. Not thread-safe.
//
// Either it leads anywhere, and the IPv4 identification of its datagrams is 0; or it is connected to one
// address, which spares the system a search for the route with each datagram, and it numbers them: from a
// start that it draws, one for each call of send(), however many packets the call is cut into. The ICRC
// covers the identification, so the start must be known. An empty datagram, which no receiver of RoCEv2
// takes for a packet, shows it: the system gives it back with its headers, when asked for the time at which
// it was sent (SO_TIMESTAMPING; Linux, Documentation/networking/timestamping.rst, 1.4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rkv::soft::wire {

class SendSocket {
 public:
  SendSocket() = default;
  ~SendSocket();
  SendSocket(const SendSocket&) = delete;
  SendSocket& operator=(const SendSocket&) = delete;

  // One that leads anywhere. Where there are too many open files, the process's own, which is never cut for.
  void open();
  // One that is connected to an address. False: there is none, or its identification can't be known.
  bool connect(std::uint32_t destination);
  bool is_connected_to(std::uint32_t destination) const { return destination_ == destination; }

  std::uint16_t port() const { return port_; }
  // Of the next call's first packet; of those behind it, counting up.
  std::uint16_t identification() const { return identification_; }

  // What the kernel cuts datagrams into; 0: it leaves them whole.
  std::size_t cut_bytes() const { return cut_bytes_; }
  bool set_cut(std::size_t bytes);

  // False, with errno: the system refused them. A connected socket is closed then, and connected to nothing:
  // whether it has counted is not known.
  bool send(std::span<const std::byte> bytes, std::uint32_t destination);

 private:
  bool learn_identification();
  void close();

  int own_ = -1;   // what is to be closed
  int used_ = -1;  // that, or the process's
  std::uint16_t port_ = 0;
  std::uint16_t identification_ = 0;
  std::uint32_t destination_ = 0;  // 0: anywhere
  std::size_t cut_bytes_ = 0;
};

}  // namespace rkv::soft::wire
