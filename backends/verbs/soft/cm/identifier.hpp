// An rdma_cm_id of soft0: its addresses, its connection and its events.
//
// Functions are what librdmacm's of the same names do, less the waiting of synchronous ids and less changes
// of the queue pair; they return 0 or an errno. They are thread-safe, but for the destructor and for what the
// application itself reads of the public part.
//
// A connection, as InfiniBand's manager forms it:
//
//   active   idle ► [bound] ► address_resolved ► route_resolved ► connecting ─reply─► responded ► established
//   passive                                       requested ► accepted ─ready─► established
//   either                                       established ► disconnecting ► closed
//
// A lookup of a datagram service ends with its reply: closed on either side.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "backends/verbs/port/file_descriptor.hpp"
#include "backends/verbs/soft/cm/event_channel.hpp"
#include "backends/verbs/soft/cm/listener.hpp"
#include "backends/verbs/soft/cm/message.hpp"
#include "backends/verbs/soft/cm/stream.hpp"

namespace rkv::soft::cm {

inline constexpr std::uint8_t hop_limit = 64;

// Of the port that has the GID.
ibv_ah_attr address_of(const ibv_gid& gid);

// Why InfiniBand's manager rejects: the status of RDMA_CM_EVENT_REJECTED.
namespace reject_reason {
inline constexpr std::uint16_t no_resources = 3;
inline constexpr std::uint16_t timeout = 4;
inline constexpr std::uint16_t invalid_service_id = 8;
inline constexpr std::uint16_t consumer_defined = 28;
inline constexpr std::uint16_t vendor_option_not_supported = 35;
}  // namespace reject_reason

class Identifier final : public rdma_cm_id, public StreamOwner {
 public:
  static Identifier* from(rdma_cm_id* id) { return static_cast<Identifier*>(id); }

  // A synchronous one owns its channel.
  Identifier(EventChannel& events, void* user, rdma_port_space space, ibv_qp_type type);
  // Ends what is under way and tells the peer; waits until all events are acknowledged.
  ~Identifier();
  Identifier(const Identifier&) = delete;
  Identifier& operator=(const Identifier&) = delete;

  bool is_synchronous() const { return own_channel_ != nullptr; }
  bool is_datagram() const { return qp_type == IBV_QPT_UD; }
  void own(std::unique_ptr<EventChannel> events) { own_channel_ = std::move(events); }
  // Moves the id and its events; `own`, if not null, is the new channel, too, and makes the id synchronous.
  int migrate(EventChannel& to, std::unique_ptr<EventChannel> own);

  // addressing.cpp
  int set_option(int level, int name, const void* value, std::size_t bytes);
  int bind(const sockaddr& source);
  int resolve_address(const sockaddr* source, const sockaddr& destination);
  int resolve_route();

  // connecting.cpp
  int listen(int backlog);
  int connect(const rdma_conn_param* wanted);
  // Between them the queue pair is made ready, in states that queue_pair_attributes() knows.
  int begin_accepting(const rdma_conn_param* wanted);
  int accept(const rdma_conn_param* wanted);
  int reject(std::uint16_t reason, const void* data, std::size_t bytes);
  int establish();
  int notify(ibv_event_type of_device);
  int disconnect();
  // Whether an event of it waits, or will come.
  bool expects_event() const;

  // A new id for a request that came in, bound to what it came to. Wants the reactor's mutex held.
  static std::unique_ptr<Identifier> of_request(Identifier& listening, const Message& request);
  void adopt(std::unique_ptr<Stream> stream);
  void announce(std::unique_ptr<Identifier> requested);
  std::size_t waiting_requests() const;

  // As rdma_init_qp_attr (queue_pair_attributes.cpp).
  int queue_pair_attributes(ibv_qp_attr& attributes, int& mask) const;

  void acknowledge();
  // Counts the event as got. Wants the reactor's mutex held.
  void deliver() { ++unacknowledged_; }

  std::optional<ibv_qp_init_attr> child_queue_pairs;  // of rdma_create_ep
  std::vector<std::byte> connect_data;                // likewise: goes in front of private data
  bool connect_failed = false;                        // CONNECT_ERROR was reported: it was the last word

 private:
  enum class State : std::uint8_t {
    idle,
    bound,
    address_resolved,
    route_resolved,
    listening,
    connecting,
    responded,
    requested,
    accepted,
    established,
    disconnecting,
    closed,
  };

  void on_connected(int error) override;
  bool on_message(const Message& message) override;
  void on_closed(int error) override;
  void on_deadline() override;

  EventChannel& events() const { return *EventChannel::from(channel); }
  std::unique_ptr<Event> event_of(rdma_cm_event_type type, int status);
  void raise(rdma_cm_event_type type, int status);
  void raise(rdma_cm_event_type type, int status, const Message& message);
  // Fills in what came with the event.
  void describe(Event& made, const Message& message) const;
  // The last event of the connection.
  void end(rdma_cm_event_type type, int status);
  void end(rdma_cm_event_type type, int status, const Message& message);
  void leave();

  int attach_device();
  int bind_socket(const sockaddr& source);
  int choose_source(const sockaddr* source, const sockaddr& destination);
  void describe_route();
  void forget_route();

  // Checks and remembers the numbers of `wanted`, or the largest.
  int take_resources(const rdma_conn_param* wanted);
  Message message_of(Kind kind) const;
  int add_private_data(Message& message, const void* data, std::size_t bytes) const;
  void reply_came(const Message& message);
  void answer_lookup(const Message& answer);

  State state_ = State::idle;
  std::unique_ptr<EventChannel> own_channel_;
  std::uint64_t unacknowledged_ = 0;

  bool reuse_address_ = false;
  bool one_family_ = false;
  std::optional<std::uint8_t> ack_timeout_;

  verbs::FileDescriptor socket_;  // bound; until it is the listener's or the stream's
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Stream> stream_;

  Message request_;              // sent when the TCP connection is there
  std::optional<Message> peer_;  // a connection's: its request or its reply
  std::uint32_t psn_;            // our first
  std::uint8_t responder_resources_ = 0;
  std::uint8_t initiator_depth_ = 0;
  std::uint8_t retry_count_ = 0;
  std::uint8_t rnr_retry_count_ = 0;
};

}  // namespace rkv::soft::cm
