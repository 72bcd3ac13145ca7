// The queue pairs of one input, connected to the peer, and what the input has the application do with them.
// Each completion is checked; when all is over, whether any is missing.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <vector>

#include "backends/verbs/soft/verbs/queue_pair.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/ledger.hpp"
#include "tests/fuzz/process.hpp"

namespace rkv::soft {

class QueuePairs {
 public:
  QueuePairs(Process& process, Input& input);
  ~QueuePairs();
  QueuePairs(const QueuePairs&) = delete;
  QueuePairs& operator=(const QueuePairs&) = delete;

  QueuePair& any(Input& input) { return *QueuePair::from(pairs_[input.below(count)].handle); }

  void post_send(Input& input);
  void post_receive(Input& input);
  void poll();
  void arm(Input& input);
  void modify(Input& input);
  // As long as any timer takes.
  void pass_time(QueuePair& qp);
  // From now on the peer answers as it should, and time passes: all reliable requests come to an end.
  void let_finish();
  // Fails all queue pairs, and checks what is left.
  void fail();

 private:
  static constexpr std::size_t count = 5;
  struct Pair {
    ibv_qp_type type;
    bool shares;  // the shared receive queue
    ibv_qp* handle = nullptr;
  };

  void create(Pair& pair);
  void connect(Pair& pair, Input& input, ibv_qp_state until = IBV_QPS_RTS);
  void move(Pair& pair, ibv_qp_state state, int mask = 0);
  void forget(std::size_t place);
  void answer(const wire::Packet& request);
  std::size_t place_of(std::uint32_t number) const;
  std::vector<ibv_sge> list(Input& input);

  Process& process_;
  Ledger ledger_;
  ibv_cq* cq_ = nullptr;
  ibv_srq* srq_ = nullptr;
  bool shared_lost_ = false;  // a reset took receives of the shared queue with it
  std::array<Pair, count> pairs_{Pair{IBV_QPT_RC, false}, Pair{IBV_QPT_RC, true}, Pair{IBV_QPT_UC, false},
                                 Pair{IBV_QPT_UD, false}, Pair{IBV_QPT_UD, true}};
};

}  // namespace rkv::soft
