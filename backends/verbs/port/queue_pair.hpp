// RC, UC and UD queue pairs: creation to INIT, connection to ready-to-send, posting.
#pragma once

#include <infiniband/verbs.h>

#include <mutex>
#include <string>

#include "backends/verbs/port/completion_queue.hpp"
#include "backends/verbs/port/device_limits.hpp"
#include "backends/verbs/port/port_identity.hpp"
#include "core/port/device.hpp"

namespace rkv::verbs {

class VerbsQueuePair final : public QueuePair {
 public:
  // In INIT afterwards: receives can be posted. exposed_access: what peers may do to exposed memory. Throws
  // rkv::Error. `identity` must outlive it.
  VerbsQueuePair(ibv_pd* domain, std::string device, const PortIdentity& identity, const QueuePairSpec& spec,
                 unsigned exposed_access);
  VerbsQueuePair(const VerbsQueuePair&) = delete;
  VerbsQueuePair& operator=(const VerbsQueuePair&) = delete;
  ~VerbsQueuePair() override;

  [[nodiscard]] Endpoint endpoint() const override;
  void connect(const Endpoint& peer) override;
  void fail() override;
  void reset() override;
  // EINVAL: an operation that the transport has not, an inlined READ or atomic operation, one of these of
  // another length than eight, `watched` of what is not an unsignalled READ of a byte or more, or with a send
  // completion queue that is blockable, and more requests than most_chained. ENOMEM also when that queue
  // watches as many READs as it is deep.
  [[nodiscard]] int post_sends(std::span<const SendRequest> requests) override;
  [[nodiscard]] int post_receives(std::span<const ReceiveRequest> requests) override;

 private:
  [[nodiscard]] bool possible(const SendRequest& request) const;
  void fill(const SendRequest& request, ibv_send_wr& work, ibv_sge& segment);
  void modify(ibv_qp_attr& attributes, int mask, const char* to_state);
  void to_init();
  void to_ready_to_receive(const Endpoint& peer);
  void to_ready_to_send();

  std::string device_;
  const PortIdentity& identity_;
  Transport transport_;
  VerbsCompletionQueue& sends_;
  unsigned peer_access_ = 0;
  ReadDepths read_depths_;  // without one_sided one READ at a time
  std::mutex changing_;     // of the state, which fail() changes from any thread
  bool connected_ = false;
  std::uint32_t packet_sequence_;
  std::uint32_t qkey_;
  ibv_qp* pair_ = nullptr;
};

}  // namespace rkv::verbs
