// The device soft0, an opened context of it, and a context's asynchronous events.
//
// Every context of a process is on the same wire: queue pairs and keys are found process-wide.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

#include "backends/verbs/soft/sync/command_descriptor.hpp"
#include "backends/verbs/soft/sync/event_tokens.hpp"

namespace rkv::soft {

// The one ibv_device of the library; libibverbs' own functions read beyond an ibv_device, where they find
// zeros.
ibv_device* soft_device();
ibv_gid device_gid();
__be64 device_guid();

// An asynchronous event, and the counter in its object that ibv_get_async_event advances (null for none).
struct AsyncEvent {
  ibv_async_event event{};
  std::uint64_t* delivered = nullptr;
};

struct Context {
  verbs_context verbs{};  // first
  CommandDescriptor command;
  EventTokens async_tokens;
  std::mutex async_mutex;  // guards the events and the objects' delivered counters; a leaf lock
  std::deque<AsyncEvent> async_events;
  std::atomic<int> users{1};  // the application until it closes the device, and every object
  std::atomic<std::uint32_t> qkey_violations{0};

  static Context* from(ibv_context* context) {
    return reinterpret_cast<Context*>(reinterpret_cast<std::byte*>(context) -
                                      offsetof(verbs_context, context));
  }
  // Null with errno set when no descriptor is to be had.
  static Context* open();
  void hold() { users.fetch_add(1, std::memory_order_relaxed); }
  // The last one frees the context: objects may outlive ibv_close_device.
  void drop();

  void raise(ibv_event_type type, ibv_cq* cq, std::uint64_t& delivered);
  void raise(ibv_event_type type, ibv_qp* qp, std::uint64_t& delivered);
  void raise(ibv_event_type type, ibv_srq* srq, std::uint64_t& delivered);
  // As ibv_get_async_event: 0, or -1 with errno set.
  int next_event(ibv_async_event& event);
  // Forgets the undelivered events of an object that is being destroyed; returns how many were delivered in
  // all.
  std::uint64_t remove_events(const std::uint64_t& delivered);

 private:
  void raise(const AsyncEvent& event);
};

inline bool is_soft(const ibv_context* context) {
  return context->device == soft_device();
}

// Fills in the fast-path functions that verbs.h calls through the context.
void install_operations(verbs_context& verbs);

}  // namespace rkv::soft
