// The model of an RNIC: one card a host. What a message takes, from the doorbell to its completions:
//
//   sender    doorbell (doorbell.hpp), PCIe latency; the work request by DMA (pcie.hpp), unless it is inlined
//             and the doorbell carries it; the queue pair's context (cache.hpp), which is fetched on a miss
//             while no unit is occupied; a processing unit (units.hpp) for `send`; unless inlined: the
//             payload's translation (cache.hpp), the payload by DMA; the link (net/network.hpp), in the order
//             of the queue pair's posts
//   receiver  the queue pair's context; with receive_record, if the card has seen no receive that is left, a
//             DMA read of the queue's record, which shows it all that are posted by then, and one of their
//             descriptors, while no unit is occupied; a unit for `receive`, RC: and `ack`; the payload's
//             translation, meanwhile; the receive descriptor: receive_fetch + receive_fetch_an_sge x
//             scatter/gather entries of the queue; payload and completion by DMA
//   WRITE     as a send, without receive, its descriptor and completion at the receiver
//   WRITE with immediate   as a send of four header bytes more, whose payload goes where a WRITE's does
//   READ      waits, and all behind it, while reads_outstanding of its queue pair are unanswered; no payload
//             on the way there; at the responder, behind `receive` and `ack` (which makes the response),
//             the bytes' translation and DMA, and the link; at the requester room on the way to
//             memory (pcie.hpp), the queue pair's context again and the request (request_cache.hpp), a unit
//             for `ack`, the bytes and the completion by DMA
//   atomic operation   as a READ of eight bytes whose DMA read asks for the bus when the one of the atomic
//             operation before it at this responder has ended; the write behind it is not waited for
//   chain     several requests of one post have one doorbell, which carries none of them: all come in one DMA
//             read, the inlined ones with their payload
//   context   a queue pair's, and for a READ or atomic operation at its responder with read_contexts another
//             one. A unit is asked when they are there; with stalls_for_contexts it waits for the fetches,
//             one after another, and then serves who is next. context_bytes of what is fetched take PCIe's
//             way to the card
//   pass      `send`, `receive` and `ack` are each one pass of a unit; with pass_each_packet those that move
//             payload between the card and memory are as many as PCIe's packets of it
//   completion of the send    UC, UD: the last byte has left, + PCIe latency. RC: the acknowledgement has
//             crossed the link, a unit of the sender for `ack`, + PCIe latency
//
// Sources: the stages are those of Kalia, Kaminsky, Andersen, "Design guidelines for high performance RDMA
// systems" (ATC 2016), which also gives the DMAs that inlining and BlueFlame avoid, and the share of RC's
// acknowledgements; misses: Kong et al., "Understanding RDMA microarchitecture resources for performance
// isolation" (NSDI 2023); outstanding READs: InfiniBand Architecture Specification, volume 1, 9.7.3.1, and
// max_rd_atomic in ibv_modify_qp(3); doorbells and outstanding requests: Ren et al., "Scaling up memory
// disaggregated applications with SMART" (ASPLOS 2024); BlueFlame, inlining: Nvidia's mlx5 programmer's
// reference manual; libmlx4 and libmlx5 use BlueFlame for posts of a single request only (rdma-core,
// providers/mlx4/qp.c, mlx4_post_send: `nreq == 1 && inl`), and tell the card of receives by a record in the
// host's memory alone (mlx4_post_recv); atomic operations that wait for each other's round trip over PCIe:
// Kalia et al., of those on one address (their sequencer); here all of a card wait, whatever their addresses.
// Contexts of READs at their responder: Linux, drivers/net/ethernet/mellanox/mlx4/main.c, RDMARC beside QP.
// What units do while a context is missing, and a pass for each packet, are inferred from rc_swarm's sweeps
// (calibration/studies/rc_swarm); nothing published says so. That misses are DMA reads: Kalia et al., who
// count them on PCIe; how many bytes they are is not published.
//
// Few events: where a delay is the same for all requests, or is of one queue pair only, it is not waited for
// but kept in Message::behind and added when the message enters the link. So units, caches and DMA reads
// serve sends in the order in which the posting threads rang, as if a doorbell and its write took no time; of
// what arrives in that meantime, sends are served first. An acknowledgement takes its place on the link when
// the message has come. A READ's bytes are asked of the bus when the READ comes, for the time at which its
// unit will be done: the bus serves READs in the order of their coming, and what asks meanwhile waits behind
// them. (Asked when the unit is done, an event more, the model fits rc_swarm's sweeps less well.) An inlined,
// unsignalled message on UC or UD costs three events: link, arrival, received.
#pragma once

#include "backends/sim/nic/cache.hpp"
#include "backends/sim/nic/card.hpp"
#include "backends/sim/nic/doorbell.hpp"
#include "backends/sim/nic/pcie.hpp"
#include "backends/sim/nic/request_cache.hpp"
#include "backends/sim/nic/units.hpp"

namespace rkv::sim {

class Nic final : public Card {
 public:
  // Of messages over verbs.
  [[nodiscard]] static const NicTransportProfile& costs_of(const NicProfile& profile, Transport transport);

  Nic(Fabric& fabric, const NicProfile& profile, std::uint32_t host);

  [[nodiscard]] const ContextCache& contexts() const { return contexts_; }
  [[nodiscard]] const ContextCache& translations() const { return translations_; }
  [[nodiscard]] const RequestCache& requests() const { return requests_; }

 private:
  void send(QueuePairState& pair, Message& message) override;
  void send_again(QueuePairState& pair, Message& message) override { enter_link(pair, message); }
  void on_stage(Stage stage, Message& message) override;
  [[nodiscard]] Ps completion_latency() const override { return pcie_.latency(); }
  void receive_posted(QueuePairState&, Ps) override {}

  void send_stage(Stage stage, Message& message);
  void look_up(QueuePairState& pair, Message& message);
  void process(QueuePairState& pair, Message& message);
  void read_payload(QueuePairState& pair, Message& message);
  void due(QueuePairState& pair, Message& message, Ps at);
  void let_go(QueuePairState& pair, Ps not_before);
  void enter_link(QueuePairState& pair, Message& message);
  void arrived(Message& message);
  void receive(Message& message);
  Ps find_receive(QueuePairState& pair, const Message& message, Ps now) const;
  void serve_one_sided(QueuePairState& pair, Message& message, const Units::Service& service, Ps received);
  void read_for_peer(Message& message, Ps ready);
  void serve_atomic(Message& message, Ps ready);
  void atomic_was_read(const Message& message);
  void respond(Message& message);
  void acknowledge(Message& message, Ps behind);
  void acknowledgement_came(Message& message);
  void plan_response(Message& message);
  void response_has_room();
  void take_response(Message& message);
  void take_acknowledgement(Message& message);

  // A unit works for a queue pair, from now on or when it is free.
  Units::Service work(std::uint32_t queue_pair, Ps time, const char* what);
  Ps find_contexts(std::uint32_t queue_pair, bool serves_read);
  Ps find_context(std::uint32_t queue_pair, std::uint64_t id);
  [[nodiscard]] Ps passes(std::uint64_t address, std::uint32_t bytes) const;
  void account(const Pcie::Passage& passage, Ps since);
  [[nodiscard]] static std::uint32_t request_payload_bytes(const Message& message);
  [[nodiscard]] std::uint32_t header_bytes(const Message& message) const;
  [[nodiscard]] const NicTransportProfile& costs(Transport transport) const {
    return costs_of(profile_, transport);
  }

  Units units_;
  Pcie pcie_;
  Doorbells doorbells_;
  ContextCache contexts_;
  ContextCache translations_;
  RequestCache requests_;
  bool atomic_under_way_ = false;
  MessageList atomics_;    // that wait for the one under way
  MessageList responses_;  // of READs, that wait outside; an event is planned for the first
};

}  // namespace rkv::sim
