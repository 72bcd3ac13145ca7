// RC, UC and UD queue pairs: creation to INIT, connection to ready-to-send, posting.
#pragma once

#include <infiniband/verbs.h>

#include <string>

#include "backends/verbs/port/port_identity.hpp"
#include "core/port/device.hpp"

namespace rkv::verbs {

class VerbsQueuePair final : public QueuePair {
 public:
  // In INIT afterwards: receives can be posted. Throws rkv::Error. `identity` must outlive it.
  VerbsQueuePair(ibv_pd* domain, std::string device, const PortIdentity& identity, const QueuePairSpec& spec);
  VerbsQueuePair(const VerbsQueuePair&) = delete;
  VerbsQueuePair& operator=(const VerbsQueuePair&) = delete;
  ~VerbsQueuePair() override;

  [[nodiscard]] Endpoint endpoint() const override;
  void connect(const Endpoint& peer) override;
  [[nodiscard]] int post_send(const SendRequest& request) override;
  [[nodiscard]] int post_receive(const ReceiveRequest& request) override;

 private:
  void modify(ibv_qp_attr& attributes, int mask, const char* to_state);
  void to_init();
  void to_ready_to_receive(const Endpoint& peer);
  void to_ready_to_send();

  std::string device_;
  const PortIdentity& identity_;
  Transport transport_;
  std::uint32_t packet_sequence_;
  std::uint32_t qkey_;
  ibv_qp* pair_ = nullptr;
};

}  // namespace rkv::verbs
