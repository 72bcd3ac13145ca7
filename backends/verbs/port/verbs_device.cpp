#include "backends/verbs/port/verbs_device.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <cerrno>

#include "backends/verbs/path_mtu.hpp"
#include "backends/verbs/port/address_handle.hpp"
#include "backends/verbs/port/completion_queue.hpp"
#include "backends/verbs/port/device_limits.hpp"
#include "backends/verbs/port/memory_region.hpp"
#include "backends/verbs/port/queue_pair.hpp"
#include "backends/verbs/port/shared_receive_queue.hpp"
#include "backends/verbs/port/slot_watch.hpp"
#include "backends/verbs/port/system_error.hpp"

namespace rkv::verbs {
namespace {

std::string_view transport_name(ibv_transport_type type) {
  switch (type) {
    case IBV_TRANSPORT_IB:
      return "InfiniBand";
    case IBV_TRANSPORT_IWARP:
      return "iWARP";
    default:
      return "other";
  }
}

std::string_view link_layer_name(std::uint8_t link_layer) {
  switch (link_layer) {
    case IBV_LINK_LAYER_INFINIBAND:
      return "InfiniBand";
    case IBV_LINK_LAYER_ETHERNET:
      return "Ethernet";
    default:
      return "unspecified";
  }
}

// Gbit/s of the port as verbs encodes it (ibv_query_port's manual page): lanes by width, rate a lane by
// speed.
double speed_gbit_s(const ibv_port_attr& port) {
  int lanes = 0;
  switch (port.active_width) {
    case 1:
      lanes = 1;
      break;
    case 2:
      lanes = 4;
      break;
    case 4:
      lanes = 8;
      break;
    case 8:
      lanes = 12;
      break;
    case 16:
      lanes = 2;
      break;
    default:
      break;
  }
  double lane = 0;
  switch (port.active_speed) {
    case 1:
      lane = 2.5;
      break;
    case 2:
      lane = 5;
      break;
    case 4:
    case 8:
      lane = 10;
      break;
    case 16:
      lane = 14;
      break;
    case 32:
      lane = 25;
      break;
    case 64:
      lane = 50;
      break;
    case 128:
      lane = 100;
      break;
    default:
      break;
  }
  return lanes * lane;
}

std::string gid_text(const std::array<std::uint8_t, 16>& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET6, gid.data(), text.data(), text.size());
  return text.data();
}

}  // namespace

VerbsDevice::VerbsDevice(const DeviceOptions& options)
    : context_(open_device(options)), name_(::ibv_get_device_name(context_->device)) {
  domain_.reset(::ibv_alloc_pd(context_.get()));
  if (!domain_) throw system_error(name_, "ibv_alloc_pd", errno);
  identity_ = identify_port(context_.get(), name_, options.port, options.gid_index);
  limits_ = query_limits(context_.get(), domain_.get(), name_, identity_);
}

std::unique_ptr<MemoryRegion> VerbsDevice::make_region(std::size_t bytes) {
  return std::make_unique<VerbsMemoryRegion>(domain_.get(), name_, bytes, 0U);
}

std::unique_ptr<MemoryRegion> VerbsDevice::make_exposed_region(std::size_t bytes, PeerAccess access) {
  return std::make_unique<VerbsMemoryRegion>(domain_.get(), name_, bytes, exposed_access(limits_, access));
}

std::unique_ptr<CompletionQueue> VerbsDevice::make_completion_queue(std::uint32_t depth, bool blockable) {
  return std::make_unique<VerbsCompletionQueue>(context_.get(), name_, depth, blockable);
}

std::unique_ptr<QueuePair> VerbsDevice::make_queue_pair(const QueuePairSpec& spec) {
  return std::make_unique<VerbsQueuePair>(domain_.get(), name_, identity_, spec,
                                          exposed_access(limits_, PeerAccess::all));
}

std::unique_ptr<SharedReceiveQueue> VerbsDevice::make_shared_receive_queue(std::uint32_t depth,
                                                                           std::uint32_t max_sge) {
  return std::make_unique<VerbsSharedReceiveQueue>(domain_.get(), name_, depth, max_sge);
}

std::unique_ptr<AddressHandle> VerbsDevice::make_address_handle(const Endpoint& peer) {
  return std::make_unique<VerbsAddressHandle>(domain_.get(), name_, identity_, peer);
}

std::unique_ptr<SlotWatch> VerbsDevice::watch_slots(const SlotRange& range) {
  return std::make_unique<VerbsSlotWatch>(range);
}

bool VerbsDevice::stays_on_this_host() const {
  constexpr std::size_t ipv4_in_gid = 12;
  return soft() && identity_.gid[ipv4_in_gid] == 127;
}

nlohmann::json VerbsDevice::describe() const {
  ibv_device_attr attributes{};
  const bool known = ::ibv_query_device(context_.get(), &attributes) == 0;
  return {{"name", name_},
          {"soft", soft()},
          {"transport", transport_name(context_->device->transport_type)},
          {"link_layer", link_layer_name(identity_.link_layer)},
          {"firmware", known ? attributes.fw_ver : ""},
          {"port", identity_.port},
          {"gid", gid_text(identity_.gid)},
          {"gid_index", identity_.gid_index},
          {"mtu_bytes", mtu_bytes(identity_.active_mtu)},
          {"speed_gbit_s", speed_gbit_s(identity_.attributes)}};
}

}  // namespace rkv::verbs
