// Black-box fixture for tests of a verbs device: everything goes through <infiniband/verbs.h>, so the same
// tests judge the soft RNIC and any other device (RKV_TEST_DEVICE names it, default soft0).
//
// Ownership: every wrapper destroys its verbs object and CHECKs that the device agreed. Members are declared
// in the order in which they must outlive each other. Nothing here is thread-safe beyond what verbs
// themselves promise, and Catch2's macros are not: threads started by a test report through atomics.
//
// Time: no test asserts how long something takes. A wait has a deadline only so that a lost completion
// becomes a failure with a message rather than a hang.
#pragma once

#include <arpa/inet.h>
#include <endian.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace rkv::verbs_test {

// Reaching it is always a failure. Long enough for a sanitizer build on a busy machine; RKV_TEST_DEADLINE_S
// shortens it where failures are expected (tests/vm).
inline const std::chrono::seconds kDeadline = [] {
  const char* seconds = std::getenv("RKV_TEST_DEADLINE_S");
  return std::chrono::seconds{seconds != nullptr ? std::atoi(seconds) : 30};
}();
inline constexpr std::uint32_t kQkey = 0x11223344;
inline constexpr std::size_t kGrhBytes = 40;
inline constexpr int kAllRemote = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
inline constexpr int kAllAccess = IBV_ACCESS_LOCAL_WRITE | kAllRemote;

inline std::string device_name() {
  const char* name = std::getenv("RKV_TEST_DEVICE");
  return name != nullptr ? name : "soft0";
}

template <auto Destroy>
struct Destroyer {
  template <typename T>
  void operator()(T* object) const {
    CHECK(Destroy(object) == 0);
  }
};
using ContextPtr = std::unique_ptr<ibv_context, Destroyer<ibv_close_device>>;
using PdPtr = std::unique_ptr<ibv_pd, Destroyer<ibv_dealloc_pd>>;
using MrPtr = std::unique_ptr<ibv_mr, Destroyer<ibv_dereg_mr>>;
using CqPtr = std::unique_ptr<ibv_cq, Destroyer<ibv_destroy_cq>>;
using QpPtr = std::unique_ptr<ibv_qp, Destroyer<ibv_destroy_qp>>;
using SrqPtr = std::unique_ptr<ibv_srq, Destroyer<ibv_destroy_srq>>;
using AhPtr = std::unique_ptr<ibv_ah, Destroyer<ibv_destroy_ah>>;
using ChannelPtr = std::unique_ptr<ibv_comp_channel, Destroyer<ibv_destroy_comp_channel>>;

// Calls `ready` until it returns true; false when the deadline passed first. Usable from any thread.
template <typename Ready>
bool eventually(Ready&& ready) {
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (!ready()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

// Joins a thread that sits in a call without a time limit. If `done` does not come true before the deadline
// the process is ended, which Catch2 reports as the running test's failure: such a thread cannot be got out
// of the call.
inline void join_or_abort(std::thread& thread, const std::atomic<bool>& done, const char* call) {
  if (!eventually([&] { return done.load(); })) {
    std::fprintf(stderr, "%s did not return within %lld s\n", call,
                 static_cast<long long>(kDeadline.count()));
    std::abort();
  }
  thread.join();
}

// An open device with a PD, its limits, and the GID its own queue pairs reach each other by.
class Device {
 public:
  Device() {
    int count = 0;
    ibv_device** list = ibv_get_device_list(&count);
    REQUIRE(list != nullptr);
    for (int i = 0; i < count && !context_; ++i)
      if (device_name() == ibv_get_device_name(list[i])) context_.reset(ibv_open_device(list[i]));
    ibv_free_device_list(list);
    INFO("no verbs device named " << device_name() << " could be opened; set RKV_TEST_DEVICE");
    REQUIRE(context_);
    REQUIRE(ibv_query_device(context(), &limits) == 0);
    REQUIRE(ibv_query_port(context(), kPort, &port) == 0);
    pd_.reset(ibv_alloc_pd(context()));
    REQUIRE(pd_);
    choose_gid();
  }

  static constexpr std::uint8_t kPort = 1;
  ibv_context* context() const { return context_.get(); }
  ibv_pd* pd() const { return pd_.get(); }
  std::uint8_t gid_index() const { return gid_index_; }
  const ibv_gid& gid() const { return gid_; }

  // The address of this port itself, or of a mirror that sends back what comes (RKV_TEST_VIA_ADDRESS, IPv4).
  ibv_ah_attr loopback() const {
    ibv_ah_attr address{};
    address.is_global = 1;
    address.grh.dgid = gid_;
    address.grh.sgid_index = gid_index_;
    address.grh.hop_limit = 64;
    address.dlid = port.lid;
    address.port_num = kPort;
    lead_elsewhere(address.grh.dgid);
    return address;
  }

  ibv_device_attr limits{};
  ibv_port_attr port{};

 private:
  static void lead_elsewhere(ibv_gid& gid) {
    constexpr std::size_t ipv4_in_gid = 12;
    if (const char* via = std::getenv("RKV_TEST_VIA_ADDRESS"); via != nullptr)
      REQUIRE(inet_pton(AF_INET, via, gid.raw + ipv4_in_gid) == 1);
  }
  // A port may reach itself by its IPv4 address only (rdma_rxe on the loopback interface).
  void choose_gid() {
    int best = -1;
    for (int i = 0; i < port.gid_tbl_len; ++i) {
      ibv_gid_entry entry{};
      if (ibv_query_gid_ex(context(), kPort, static_cast<std::uint32_t>(i), &entry, 0) != 0) continue;
      const bool ipv4 =
          entry.gid.global.subnet_prefix == 0 && (be64toh(entry.gid.global.interface_id) >> 32) == 0xffff;
      const int fit = (entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? 1 : 0) + (ipv4 ? 1 : 0);
      if (fit <= best) continue;
      best = fit;
      gid_index_ = static_cast<std::uint8_t>(i);
      gid_ = entry.gid;
    }
    INFO("device " << device_name() << " has no GID");
    REQUIRE(gid_.global.interface_id != 0);
  }

  ContextPtr context_;
  PdPtr pd_;
  std::uint8_t gid_index_ = 0;
  ibv_gid gid_{};
};

// Page-aligned registered memory.
class Buffer {
 public:
  Buffer(ibv_pd* pd, std::size_t size, int access = kAllAccess)
      : storage_(std::make_unique<std::byte[]>(size + kAlignment)), size_(size) {
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.get());
    data_ = storage_.get() + (kAlignment - address % kAlignment) % kAlignment;
    mr_.reset(ibv_reg_mr(pd, data_, size, access));
    REQUIRE(mr_);
  }

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::span<std::byte> bytes() const { return {data_, size_}; }
  ibv_mr* mr() const { return mr_.get(); }
  std::uint32_t rkey() const { return mr_->rkey; }
  std::uint32_t lkey() const { return mr_->lkey; }
  std::uint64_t address(std::size_t offset = 0) const {
    return reinterpret_cast<std::uintptr_t>(data_) + offset;
  }
  ibv_sge sge(std::size_t offset, std::size_t length) const {
    return {address(offset), static_cast<std::uint32_t>(length), mr_->lkey};
  }
  void fill(std::uint8_t value) const { std::memset(data_, value, size_); }
  void release() { mr_.reset(); }

 private:
  static constexpr std::size_t kAlignment = 4096;
  std::unique_ptr<std::byte[]> storage_;
  std::byte* data_ = nullptr;
  std::size_t size_;
  MrPtr mr_;
};

inline CqPtr make_cq(const Device& device, int depth = 256, ibv_comp_channel* channel = nullptr,
                     void* user = nullptr) {
  CqPtr cq(ibv_create_cq(device.context(), depth, user, channel, 0));
  REQUIRE(cq);
  return cq;
}

// One completion, or a failed test when none comes.
inline ibv_wc wait_completion(ibv_cq* cq) {
  ibv_wc wc{};
  int polled = 0;
  const bool arrived = eventually([&] { return (polled = ibv_poll_cq(cq, 1, &wc)) != 0; });
  INFO("waited " << kDeadline.count() << " s for a completion");
  REQUIRE(arrived);
  REQUIRE(polled == 1);
  return wc;
}

// One successful completion.
inline ibv_wc wait_success(ibv_cq* cq) {
  const ibv_wc wc = wait_completion(cq);
  INFO("completion status: " << ibv_wc_status_str(wc.status));
  REQUIRE(wc.status == IBV_WC_SUCCESS);
  return wc;
}

inline void require_empty(ibv_cq* cq) {
  ibv_wc wc{};
  const int polled = ibv_poll_cq(cq, 1, &wc);
  INFO("unexpected completion: wr_id " << wc.wr_id << ", " << ibv_wc_status_str(wc.status));
  REQUIRE(polled == 0);
}

inline ibv_qp_state state_of(ibv_qp* qp) {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  REQUIRE(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) == 0);
  return attr.qp_state;
}

inline void require_state(ibv_qp* qp, ibv_qp_state expected) {
  const bool reached = eventually([&] { return state_of(qp) == expected; });
  INFO("queue pair is in state " << state_of(qp) << ", expected " << expected);
  REQUIRE(reached);
}

// A queue pair leaves SQD when nothing that it sent is under way any more, and not before.
inline void require_drained(ibv_qp* qp) {
  const bool drained = eventually([&] {
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    REQUIRE(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) == 0);
    return attr.sq_draining == 0;
  });
  REQUIRE(drained);
}

inline int move_to(ibv_qp* qp, ibv_qp_state state) {
  ibv_qp_attr attr{};
  attr.qp_state = state;
  return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

// How an endpoint is made; the defaults suit most tests.
struct EndpointOptions {
  ibv_qp_type type = IBV_QPT_RC;
  std::uint32_t max_send_wr = 64;
  std::uint32_t max_recv_wr = 64;
  std::uint32_t max_sge = 4;
  std::uint32_t max_inline_data = 64;
  bool sq_sig_all = false;
  int access = kAllRemote;
  ibv_mtu path_mtu = IBV_MTU_1024;
  std::uint8_t rnr_retry = 7;
  std::uint8_t retry_count = 7;
  std::uint8_t timeout = 14;
  std::uint8_t min_rnr_timer = 1;  // 0.01 ms
  std::uint8_t rd_atomic = 4;
  std::uint32_t qkey = kQkey;
  std::size_t buffer_bytes = 64 * 1024;
  int cq_depth = 256;
  ibv_srq* srq = nullptr;
  ibv_cq* cq = nullptr;  // used for both directions instead of CQs of its own; outlives the endpoint
  ibv_comp_channel* channel = nullptr;
};

// A queue pair with its CQs and one registered buffer.
class Endpoint {
 public:
  Buffer buffer;     // declared first: registered until the queue pair is gone
  ibv_qp_cap cap{};  // what the device granted

  explicit Endpoint(const Device& device, const EndpointOptions& options = {})
      : buffer(device.pd(), options.buffer_bytes), device_(&device), options_(options) {
    if (options.cq == nullptr) {
      send_cq_ = make_cq(device, options.cq_depth, options.channel);
      recv_cq_ = make_cq(device, options.cq_depth, options.channel);
    }
    ibv_qp_init_attr init{};
    init.qp_type = options.type;
    init.send_cq = send_cq();
    init.recv_cq = recv_cq();
    init.srq = options.srq;
    init.sq_sig_all = options.sq_sig_all ? 1 : 0;
    init.cap = {options.max_send_wr, options.max_recv_wr, options.max_sge, options.max_sge,
                options.max_inline_data};
    qp_.reset(ibv_create_qp(device.pd(), &init));
    REQUIRE(qp_);
    cap = init.cap;
  }

  ibv_qp* qp() const { return qp_.get(); }
  ibv_cq* send_cq() const { return options_.cq != nullptr ? options_.cq : send_cq_.get(); }
  ibv_cq* recv_cq() const { return options_.cq != nullptr ? options_.cq : recv_cq_.get(); }
  std::uint32_t number() const { return qp_->qp_num; }
  const EndpointOptions& options() const { return options_; }
  const Device& device() const { return *device_; }

  // The attributes of each step of RESET, INIT, RTR, RTS, and the masks that go with them.
  ibv_qp_attr attributes(std::uint32_t peer_qpn) const {
    ibv_qp_attr attr{};
    attr.port_num = Device::kPort;
    attr.qp_access_flags = static_cast<unsigned>(options_.access);
    attr.qkey = options_.qkey;
    attr.path_mtu = options_.path_mtu;
    attr.ah_attr = device_->loopback();
    attr.dest_qp_num = peer_qpn;
    attr.max_dest_rd_atomic = options_.rd_atomic;
    attr.max_rd_atomic = options_.rd_atomic;
    attr.min_rnr_timer = options_.min_rnr_timer;
    attr.timeout = options_.timeout;
    attr.retry_cnt = options_.retry_count;
    attr.rnr_retry = options_.rnr_retry;
    return attr;
  }
  static int init_mask(ibv_qp_type type) {
    return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
           (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
  }
  static int rtr_mask(ibv_qp_type type) {
    int mask = IBV_QP_STATE;
    if (type != IBV_QPT_UD) mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (type == IBV_QPT_RC) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    return mask;
  }
  static int rts_mask(ibv_qp_type type) {
    int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (type == IBV_QPT_RC)
      mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    return mask;
  }

  void to_init() const { step(IBV_QPS_INIT, 0, init_mask(options_.type)); }
  void to_rtr(std::uint32_t peer_qpn) const { step(IBV_QPS_RTR, peer_qpn, rtr_mask(options_.type)); }
  void to_rts(std::uint32_t peer_qpn) const { step(IBV_QPS_RTS, peer_qpn, rts_mask(options_.type)); }
  void ready(std::uint32_t peer_qpn) const {
    to_init();
    to_rtr(peer_qpn);
    to_rts(peer_qpn);
  }
  void reset() const { REQUIRE(move_to(qp(), IBV_QPS_RESET) == 0); }
  void destroy() { qp_.reset(); }

  int try_post_recv(std::span<ibv_sge> sges, std::uint64_t id = 0) const {
    ibv_recv_wr wr{};
    wr.wr_id = id;
    wr.sg_list = sges.data();
    wr.num_sge = static_cast<int>(sges.size());
    ibv_recv_wr* bad = nullptr;
    const int error = ibv_post_recv(qp(), &wr, &bad);
    if (error != 0) CHECK(bad == &wr);
    return error;
  }
  void post_recv(std::size_t offset, std::size_t length, std::uint64_t id = 0) const {
    ibv_sge sge = buffer.sge(offset, length);
    REQUIRE(try_post_recv({&sge, 1}, id) == 0);
  }
  int try_post(ibv_send_wr wr) const {
    ibv_send_wr* bad = nullptr;
    const int error = ibv_post_send(qp(), &wr, &bad);
    if (error != 0) CHECK(bad == &wr);
    return error;
  }
  void post(const ibv_send_wr& wr) const { REQUIRE(try_post(wr) == 0); }

 private:
  void step(ibv_qp_state state, std::uint32_t peer_qpn, int mask) const {
    ibv_qp_attr attr = attributes(peer_qpn);
    attr.qp_state = state;
    INFO("to state " << state);
    REQUIRE(ibv_modify_qp(qp(), &attr, mask) == 0);
  }

  const Device* device_;
  EndpointOptions options_;
  CqPtr send_cq_, recv_cq_;
  QpPtr qp_;
};

// Builders of work requests over caller-owned SGEs.
inline ibv_send_wr work(ibv_wr_opcode opcode, std::span<ibv_sge> sges, std::uint64_t id = 0,
                        unsigned flags = IBV_SEND_SIGNALED) {
  ibv_send_wr wr{};
  wr.wr_id = id;
  wr.opcode = opcode;
  wr.sg_list = sges.data();
  wr.num_sge = static_cast<int>(sges.size());
  wr.send_flags = flags;
  return wr;
}
inline ibv_send_wr remote_work(ibv_wr_opcode opcode, std::span<ibv_sge> sges, std::uint64_t remote_address,
                               std::uint32_t rkey, std::uint64_t id = 0, unsigned flags = IBV_SEND_SIGNALED) {
  ibv_send_wr wr = work(opcode, sges, id, flags);
  wr.wr.rdma.remote_addr = remote_address;
  wr.wr.rdma.rkey = rkey;
  return wr;
}
inline ibv_send_wr atomic_work(ibv_wr_opcode opcode, std::span<ibv_sge> sges, std::uint64_t remote_address,
                               std::uint32_t rkey, std::uint64_t compare_add, std::uint64_t swap,
                               std::uint64_t id = 0, unsigned flags = IBV_SEND_SIGNALED) {
  ibv_send_wr wr = work(opcode, sges, id, flags);
  wr.wr.atomic.remote_addr = remote_address;
  wr.wr.atomic.rkey = rkey;
  wr.wr.atomic.compare_add = compare_add;
  wr.wr.atomic.swap = swap;
  return wr;
}

// Two endpoints of one device, connected to each other and ready to send.
struct Pair {
  Pair(const Device& device, const EndpointOptions& options) : Pair(device, options, options) {}
  Pair(const Device& device, const EndpointOptions& options_a, const EndpointOptions& options_b)
      : a(device, options_a), b(device, options_b) {
    connect();
    if (options_a.type == IBV_QPT_UD) {
      ibv_ah_attr address = device.loopback();
      ah.reset(ibv_create_ah(device.pd(), &address));
      REQUIRE(ah);
    }
  }
  void connect() const {
    a.to_init();
    b.to_init();
    a.to_rtr(b.number());
    b.to_rtr(a.number());
    a.to_rts(b.number());
    b.to_rts(a.number());
  }
  // `wr` addressed from `from` to the other end, which only UD needs.
  ibv_send_wr to_peer(const Endpoint& from, ibv_send_wr wr) const {
    if (from.options().type != IBV_QPT_UD) return wr;
    const Endpoint& peer = &from == &a ? b : a;
    wr.wr.ud.ah = ah.get();
    wr.wr.ud.remote_qpn = peer.number();
    wr.wr.ud.remote_qkey = peer.options().qkey;
    return wr;
  }
  // A good one-byte message from a to b and its two completions: shows that the connection is alive, and
  // comes after everything a sent before, so nothing earlier can still be on its way.
  void require_alive() const {
    const std::size_t offset = b.buffer.size() - 64;
    b.post_recv(offset, 64, kMarker);
    ibv_sge sge = a.buffer.sge(a.buffer.size() - 1, 1);
    a.post(to_peer(a, work(IBV_WR_SEND, {&sge, 1}, kMarker)));
    REQUIRE(wait_success(a.send_cq()).wr_id == kMarker);
    REQUIRE(wait_success(b.recv_cq()).wr_id == kMarker);
  }

  static constexpr std::uint64_t kMarker = 0xA11FE;
  AhPtr ah;
  Endpoint a, b;
};

// What was sent before has arrived or is lost, and so have the answers to it: a message of a fresh connection
// comes after it, and an answer to that.
inline void let_everything_arrive(const Device& device) {
  Pair(device, EndpointOptions{}).require_alive();
}

// The next asynchronous event of the device, acknowledged; a failed test when none comes.
inline ibv_async_event wait_async_event(ibv_context* context) {
  pollfd descriptor{context->async_fd, POLLIN, 0};
  const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(kDeadline);
  INFO("waited " << kDeadline.count() << " s for an asynchronous event");
  REQUIRE(poll(&descriptor, 1, static_cast<int>(timeout.count())) == 1);
  ibv_async_event event{};
  REQUIRE(ibv_get_async_event(context, &event) == 0);
  ibv_ack_async_event(&event);
  return event;
}

// Skips events about anything else: the specification lets a device add affiliated events of other kinds.
inline ibv_async_event wait_async_event(ibv_context* context, ibv_event_type type) {
  ibv_async_event event = wait_async_event(context);
  while (event.event_type != type) event = wait_async_event(context);
  return event;
}

inline void set_nonblocking(int descriptor) {
  const int flags = fcntl(descriptor, F_GETFL);
  REQUIRE(flags >= 0);
  REQUIRE(fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0);
}

inline std::string type_name(ibv_qp_type type) {
  return type == IBV_QPT_RC ? "RC" : type == IBV_QPT_UC ? "UC" : "UD";
}

}  // namespace rkv::verbs_test
