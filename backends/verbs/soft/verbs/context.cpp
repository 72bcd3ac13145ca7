#include "backends/verbs/soft/verbs/context.hpp"

#include <array>
#include <cstring>
#include <new>
#include <string_view>

#include "backends/verbs/soft/verbs/limits.hpp"
#include "backends/verbs/soft/wire/endpoint.hpp"

namespace rkv::soft {
namespace {

// What a provider of libibverbs keeps behind its ibv_device; anything of libibverbs that looks there finds
// zeros.
constexpr std::size_t provider_bytes = 1'024;

struct PaddedDevice {
  ibv_device device{};
  std::array<std::byte, provider_bytes> provider{};
};

PaddedDevice make_device() {
  PaddedDevice padded;
  padded.device.node_type = IBV_NODE_CA;
  padded.device.transport_type = IBV_TRANSPORT_IB;
  std::strcpy(padded.device.name, "soft0");
  std::strcpy(padded.device.dev_name, "soft0");
  return padded;
}

}  // namespace

ibv_device* soft_device() {
  static PaddedDevice device = make_device();
  return &device.device;
}

ibv_gid device_gid() {
  // The IPv4-mapped address, as RoCEv2 forms a GID of a port's.
  return wire::gid_of(wire::Endpoint::instance().address());
}

__be64 device_guid() {
  // Locally administered: bit 1 of the first byte.
  constexpr std::array<std::uint8_t, 8> guid{0x02, 's', 'o', 0xff, 0xfe, 'f', 't', '0'};
  __be64 value = 0;
  std::memcpy(&value, guid.data(), sizeof value);
  return value;
}

Context* Context::open() {
  auto* const opened = new (std::nothrow) Context;
  if (opened == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  if (opened->command.fd() < 0 || opened->async_tokens.fd() < 0) {
    const int reason = errno;
    delete opened;
    errno = reason;
    return nullptr;
  }
  ibv_context& context = opened->verbs.context;
  opened->verbs.sz = sizeof(verbs_context);
  context.device = soft_device();
  context.cmd_fd = opened->command.fd();
  context.async_fd = opened->async_tokens.fd();
  context.num_comp_vectors = static_cast<int>(limits::num_comp_vectors);
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  pthread_mutex_init(&context.mutex, nullptr);
  install_operations(opened->verbs);
  return opened;
}

void Context::drop() {
  if (users.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    pthread_mutex_destroy(&verbs.context.mutex);
    delete this;
  }
}

void Context::raise(ibv_event_type type, ibv_cq* cq, std::uint64_t& delivered) {
  raise(AsyncEvent{.event = {.element = {.cq = cq}, .event_type = type}, .delivered = &delivered});
}
void Context::raise(ibv_event_type type, ibv_qp* qp, std::uint64_t& delivered) {
  raise(AsyncEvent{.event = {.element = {.qp = qp}, .event_type = type}, .delivered = &delivered});
}
void Context::raise(ibv_event_type type, ibv_srq* srq, std::uint64_t& delivered) {
  raise(AsyncEvent{.event = {.element = {.srq = srq}, .event_type = type}, .delivered = &delivered});
}

void Context::raise(const AsyncEvent& event) {
  {
    const std::scoped_lock lock(async_mutex);
    async_events.push_back(event);
  }
  async_tokens.post();
}

int Context::next_event(ibv_async_event& event) {
  while (async_tokens.take()) {
    const std::scoped_lock lock(async_mutex);
    if (async_events.empty()) {
      continue;  // the token belonged to an object that was destroyed since
    }
    event = async_events.front().event;
    ++*async_events.front().delivered;
    async_events.pop_front();
    return 0;
  }
  return -1;
}

std::uint64_t Context::remove_events(const std::uint64_t& delivered) {
  const std::scoped_lock lock(async_mutex);
  async_tokens.withdraw(
      std::erase_if(async_events, [&](const AsyncEvent& each) { return each.delivered == &delivered; }));
  return delivered;
}

}  // namespace rkv::soft
