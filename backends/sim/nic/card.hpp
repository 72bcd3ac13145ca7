// What every network card of the simulation does, whatever its timing: queue pairs and their rules, matching
// messages with receives, order, retries and errors. nic.hpp models an RNIC, soft.hpp the one in software.
//
// The rules are those of verbs as the soft RNIC keeps them (backends/verbs/soft/README.md):
//   UC, UD  a message that finds no receive, or one that is too short, is dropped; the receive stays
//   WRITE, READ   need no receive; what names memory that is not exposed, or to a queue pair that does not
//                 allow it, is dropped on UC and fails both on RC
//   WRITE with immediate   takes a receive as well, of any length, if it may be done
//   RC      one that finds none is sent again after rnr_delay, without end; one that is lost after
//           retransmit_delay; one to a queue pair that does not answer seven times (six retries), then the
//           sender fails. One that is too long fails both. What comes out of order is sent again with what
//           was missing. (The answer's way back is part of these delays.)
//
// Numbers of queue pairs are not given twice, so that events for one that was destroyed find nothing. Memory
// that is given with a post belongs to the card until the completion or the queue pair's end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backends/sim/engine/world.hpp"
#include "backends/sim/net/network.hpp"
#include "backends/sim/nic/message.hpp"
#include "backends/sim/nic/queue_pair_state.hpp"
#include "backends/sim/profile/profile.hpp"

namespace rkv::sim {

class BackoffLock;
class Card;

// The cards that reach each other, by the number of their host, and the messages between them.
struct Fabric {
  Fabric(World& its_world, Network& its_network) : world(its_world), network(its_network) {}
  World& world;
  Network& network;
  MessagePool messages;
  std::vector<Card*> cards;
};

struct SendWork {
  std::uint64_t id = 0;
  SendOperation operation = SendOperation::send;
  std::span<std::byte> bytes;  // what is sent or written, or where what is READ goes
  std::uint64_t address = 0;   // of these
  bool signalled = true;
  bool watched = false;
  bool inlined = false;
  RemoteMemory remote{};        // all but SEND
  std::uint32_t immediate = 0;  // WRITE with immediate
  std::uint64_t operand = 0;    // atomic
  std::uint64_t swap = 0;
  Address to;  // UD
  // Requests posted together: the card learns of all of them by the first one's doorbell, and then reads
  // those behind it, which are so many bytes.
  bool follows = false;
  std::uint32_t chained_bytes = 0;
};

// Messages to which something happened, for the report.
struct FaultCounts {
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
  std::uint64_t no_receive = 0;  // UC, UD: dropped at the receiver
  std::uint64_t too_long = 0;    // UC, UD: dropped at the receiver
};

// Who looks at memory that peers WRITE into.
class WriteObserver {
 public:
  virtual void written(std::uint64_t address, std::uint64_t bytes) = 0;

 protected:
  ~WriteObserver() = default;
};

class Card : public EventHandler {
 public:
  // One a host. Adds itself to the fabric, which must outlive it.
  Card(Fabric& fabric, const NicProfile& profile, std::uint32_t host);
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;
  virtual ~Card() = default;

  // Its number, counted from first_number in the order of making.
  static constexpr std::uint32_t first_number = 1;
  std::uint32_t make_queue_pair(const QueuePairSetup& setup);
  void destroy_queue_pair(std::uint32_t number);
  void connect(std::uint32_t number, const Address& peer);
  // RC: what is posted to a connected queue pair, now and later, is flushed.
  void fail(std::uint32_t number);

  struct Posted {
    int refusal = 0;            // errno, or 0
    std::uint32_t message = 0;  // to be rung
  };
  // A send is written into its queue; an inlined payload is copied. The card learns of it by ring().
  [[nodiscard]] Posted post_send(std::uint32_t number, const SendWork& work);
  // The event by which a posted message is rung, to be recorded or planned; the poster is World::playing().
  [[nodiscard]] static std::uint64_t ring_tag(std::uint32_t message);
  // Where the thread that posts does the card's work: what it holds for all that it posts to this queue pair
  // at a time, and what for each message. With the former it records the event of this tag when it holds
  // nothing any more. Null: there is no such thing.
  [[nodiscard]] virtual BackoffLock* sender_lock(std::uint32_t /*queue_pair*/) { return nullptr; }
  [[nodiscard]] virtual BackoffLock* receiver_lock(std::uint32_t /*message*/) { return nullptr; }
  [[nodiscard]] static std::uint64_t end_post_tag();
  // 0, or the errno of the refusal.
  [[nodiscard]] int post_receive(std::uint32_t number, const ReceiveSlot& receive);
  // To those that queue pairs of this card share. It outlives them.
  [[nodiscard]] int post_receive(ReceiveSlots& shared, const ReceiveSlot& receive);
  // A completion of this queue pair was taken from its queue: what it stands for may be posted anew.
  void taken(const Finished& finished);

  // Lets peers use these bytes so, by addresses from this one on, until they are hidden again.
  RemoteMemory expose(std::span<std::byte> bytes, std::uint64_t address, PeerAccess access);
  void hide(const RemoteMemory& memory);
  // Is told of what peers WRITE into the region with this memory's key, until it stops observing or the
  // region is hidden.
  void observe(const RemoteMemory& memory, WriteObserver& observer);
  void stop_observing(const RemoteMemory& memory, WriteObserver& observer);

  // Addresses for so many bytes of memory, whole pages: the first of them.
  std::uint64_t reserve_addresses(std::uint64_t bytes);

  [[nodiscard]] std::uint32_t host() const { return host_; }
  [[nodiscard]] const FaultCounts& faults() const { return faults_; }

  void on_event(std::uint64_t tag) final;

 protected:
  // What an event is about; the rest of its tag is the number of a message or, where it says so, a queue
  // pair.
  enum class Stage : std::uint8_t {
    ring,
    end_post,  // no number
    retry,     // queue pair
    flush,     // queue pair
    received,
    sent,
    fetched,
    contexts_there,
    payload,
    translated,
    link,
    arrival,
    receive,
    response,
    acknowledged,
    room,
    taken_in,
  };
  void plan(Ps at, Stage stage, const Message& message);
  void plan_at(Card& card, Ps at, Stage stage, const Message& message);
  [[nodiscard]] static std::uint64_t tag(Stage stage, std::uint32_t number);

  // The model's part. A message that was rung (captured and numbered), of a queue pair in working order.
  virtual void send(QueuePairState& pair, Message& message) = 0;
  // The thread that rang has let go of what it held.
  virtual void end_post() {}
  // Held back for long enough.
  virtual void send_again(QueuePairState& pair, Message& message) = 0;
  virtual void on_stage(Stage stage, Message& message) = 0;
  // From a completion's making to where it is visible.
  [[nodiscard]] virtual Ps completion_latency() const = 0;
  // A receive was posted and is visible from that time on.
  virtual void receive_posted(QueuePairState& pair, Ps visible_from) = 0;

  // Holds up the thread that rings. The time is accounted for.
  void hold_poster(Ps time, Spent where);

  enum class Answer : std::uint8_t { accepted, not_ready, out_of_order, lost, none };
  // The receiver's rules: finds the message its receive. `accepted` with a status that is not ok: it failed
  // the queue pair. UC and UD: all but `accepted` means that it is dropped.
  Answer accept(Message& message);
  // An accepted message is in the receiver's memory, or has failed: its completion is visible.
  void received(Message& message);
  // READ: its bytes leave this card's memory. An atomic operation changes them.
  void capture_read(Message& message);
  // For the translation cache.
  [[nodiscard]] std::uint64_t page(std::uint64_t address) const { return address / profile_.page_bytes; }
  // What becomes of one that was not accepted.
  void not_accepted(Message& message, Answer answer);
  // The sender of an RC message has the receiver's answer, which is in the message's status: its completion
  // is visible at that time.
  void acknowledged(Message& message, Ps at);
  // RC: keeps the message, to be sent again. By its sender.
  void hold_back(Message& message, Ps delay);
  // What the peer of this queue pair holds back is sent again at that time, if not before.
  void retry_peer(const QueuePairState& pair, Ps at);
  // Where the message's completion goes at the receiver; null: its queue pair is no more.
  [[nodiscard]] const CompletionSink* receiver_of(const Message& message);
  // Plans the completion of a send. Takes one use of the message.
  void complete_send(QueuePairState& pair, Message& message, Ps at);

  [[nodiscard]] QueuePairState* find(std::uint32_t number) {
    return number < pairs_.size() ? pairs_[number].get() : nullptr;
  }
  [[nodiscard]] Card& card_of(const Address& address) { return *fabric_.cards[address.host]; }
  [[nodiscard]] Message& duplicate(const Message& message);
  void release(Message& message) { fabric_.messages.release(message); }
  void spend(Spent where, Ps time) { world_.spent().add(where, time); }

  World& world_;
  Fabric& fabric_;
  const NicProfile profile_;
  const std::uint32_t host_;
  FaultCounts faults_;

 private:
  void ring(Message& message);
  [[nodiscard]] bool may_access(const QueuePairState& pair, const Message& message) const;
  void place(const Message& message);
  void complete_receive(QueuePairState& pair, const Message& message);
  void change(const Message& message, std::span<std::byte> bytes);
  void tell_observers(const RemoteMemory& memory, std::uint64_t bytes);
  [[nodiscard]] std::span<std::byte> exposed(const RemoteMemory& memory, std::uint32_t bytes) const;
  [[nodiscard]] bool allows(const Message& message) const;
  void answered(Message& message, Ps at);
  void finish(Message& message, Ps at);
  bool finish_send(Message& message);
  void retry_by(QueuePairState& pair, Ps at);
  void retry(QueuePairState& pair);
  void plan_flush(QueuePairState& pair);
  void flush(QueuePairState& pair);
  void sent(Message& message);
  void release_all(MessageList& list);

  std::vector<std::unique_ptr<QueuePairState>> pairs_;  // by number; null: destroyed
  std::uint64_t pages_ = 0;                             // that have addresses
  struct Exposed {
    std::span<std::byte> bytes;
    std::uint64_t address = 0;
    PeerAccess access = PeerAccess::all;
    std::vector<WriteObserver*> observers = {};
  };
  std::vector<Exposed> exposed_;  // by key; empty: hidden
};

}  // namespace rkv::sim
