// A shared receive queue of libibverbs.
#pragma once

#include <infiniband/verbs.h>

#include <string_view>

#include "core/port/device.hpp"

namespace rkv::verbs {

class VerbsSharedReceiveQueue final : public SharedReceiveQueue {
 public:
  // Throws rkv::Error.
  VerbsSharedReceiveQueue(ibv_pd* domain, std::string_view device, std::uint32_t depth,
                          std::uint32_t max_sge);
  VerbsSharedReceiveQueue(const VerbsSharedReceiveQueue&) = delete;
  VerbsSharedReceiveQueue& operator=(const VerbsSharedReceiveQueue&) = delete;
  ~VerbsSharedReceiveQueue() override;

  [[nodiscard]] ibv_srq* get() const { return queue_; }
  [[nodiscard]] int post_receives(std::span<const ReceiveRequest> requests) override;

 private:
  ibv_srq* queue_ = nullptr;
};

}  // namespace rkv::verbs
