// A bare ping-pong between two threads over the plain libibverbs API: the round trip of one SEND each way.
//
// Each side keeps receives posted, waits for the other's message (busy: polling; event: on a completion
// channel), posts the receive again and answers. Prints the median and the 99th percentile of the round trips
// in nanoseconds.
#include <fmt/format.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int receive_depth = 16;
constexpr int send_depth = 64;
constexpr std::uint32_t signal_interval = 16;
constexpr std::uint32_t grh_bytes = 40;
constexpr std::uint32_t qkey = 0x1111;

struct Options {
  std::uint32_t bytes = 352;
  std::uint32_t iterations = 1'000'000;
  std::string mode = "busy";
  std::string transport = "uc";
  std::string device = "soft0";
  int gid_index = 0;
  std::vector<int> cores{0, 1};
  std::uint32_t pairs = 1;
};

template <typename T>
T* need(T* pointer, const char* what) {
  if (pointer == nullptr) {
    throw std::runtime_error(fmt::format("{} failed: {}", what, std::strerror(errno)));
  }
  return pointer;
}

void need(int error, const char* what) {
  if (error != 0) {
    throw std::runtime_error(fmt::format("{} failed: {}", what, std::strerror(error)));
  }
}

ibv_context* open_device(const std::string& name) {
  int count = 0;
  ibv_device** const devices = need(ibv_get_device_list(&count), "ibv_get_device_list");
  ibv_context* context = nullptr;
  for (int i = 0; i < count && context == nullptr; ++i) {
    if (name == ibv_get_device_name(devices[i])) {
      context = ibv_open_device(devices[i]);
    }
  }
  ibv_free_device_list(devices);
  return need(context, "ibv_open_device");
}

// One side: its own context, as two programs would have.
class alignas(64) Side {
 public:
  explicit Side(const Options& options) : options_(options), context_(open_device(options.device)) {
    pd_ = need(ibv_alloc_pd(context_), "ibv_alloc_pd");
    if (options.mode == "event") {
      channel_ = need(ibv_create_comp_channel(context_), "ibv_create_comp_channel");
    }
    send_cq_ = need(ibv_create_cq(context_, send_depth, nullptr, nullptr, 0), "ibv_create_cq");
    recv_cq_ = need(ibv_create_cq(context_, receive_depth, nullptr, channel_, 0), "ibv_create_cq");
    slot_bytes_ = (options.bytes + grh_bytes + 63) / 64 * 64;
    buffer_ = need(static_cast<char*>(std::aligned_alloc(4096, (buffer_bytes() + 4095) / 4096 * 4096)),
                   "aligned_alloc");
    std::fill_n(buffer_, buffer_bytes(), '\0');
    mr_ = need(ibv_reg_mr(pd_, buffer_, buffer_bytes(), IBV_ACCESS_LOCAL_WRITE), "ibv_reg_mr");
    type_ = options.transport == "rc" ? IBV_QPT_RC : options.transport == "uc" ? IBV_QPT_UC : IBV_QPT_UD;
    ibv_qp_init_attr creation{};
    creation.send_cq = send_cq_;
    creation.recv_cq = recv_cq_;
    creation.cap = {.max_send_wr = send_depth,
                    .max_recv_wr = receive_depth,
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = 0};
    creation.qp_type = type_;
    qp_ = need(ibv_create_qp(pd_, &creation), "ibv_create_qp");
  }
  ~Side() {
    ibv_destroy_qp(qp_);
    if (ah_ != nullptr) {
      ibv_destroy_ah(ah_);
    }
    ibv_destroy_cq(send_cq_);
    ibv_destroy_cq(recv_cq_);
    if (channel_ != nullptr) {
      ibv_destroy_comp_channel(channel_);
    }
    ibv_dereg_mr(mr_);
    ibv_dealloc_pd(pd_);
    ibv_close_device(context_);
    std::free(buffer_);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  void connect(const Side& other) {
    ibv_gid gid{};
    need(ibv_query_gid(context_, 1, options_.gid_index, &gid), "ibv_query_gid");
    ibv_ah_attr address{};
    address.is_global = 1;
    address.port_num = 1;
    address.grh.dgid = gid;
    address.grh.sgid_index = static_cast<std::uint8_t>(options_.gid_index);
    address.grh.hop_limit = 1;
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    attributes.qkey = qkey;
    const bool datagram = type_ == IBV_QPT_UD;
    const bool reliable = type_ == IBV_QPT_RC;
    need(ibv_modify_qp(
             qp_, &attributes,
             IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | (datagram ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)),
         "ibv_modify_qp to INIT");
    for (int i = 0; i < receive_depth; ++i) {
      post_receive(static_cast<std::uint64_t>(i));
    }
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = IBV_MTU_4096;
    attributes.dest_qp_num = other.qp_->qp_num;
    attributes.ah_attr = address;
    attributes.max_dest_rd_atomic = 1;
    attributes.min_rnr_timer = 12;
    const int path = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    need(ibv_modify_qp(qp_, &attributes,
                       IBV_QP_STATE | (datagram ? 0 : path) |
                           (reliable ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0)),
         "ibv_modify_qp to RTR");
    attributes.qp_state = IBV_QPS_RTS;
    attributes.timeout = 14;
    attributes.retry_cnt = 7;
    attributes.rnr_retry = 7;
    attributes.max_rd_atomic = 1;
    need(ibv_modify_qp(
             qp_, &attributes,
             IBV_QP_STATE | IBV_QP_SQ_PSN |
                 (reliable ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC
                           : 0)),
         "ibv_modify_qp to RTS");
    if (datagram) {
      ah_ = need(ibv_create_ah(pd_, &address), "ibv_create_ah");
    }
    peer_qpn_ = other.qp_->qp_num;
    if (channel_ != nullptr) {
      need(ibv_req_notify_cq(recv_cq_, 0), "ibv_req_notify_cq");
    }
  }

  void send() {
    ibv_sge sge{.addr = reinterpret_cast<std::uint64_t>(buffer_ + receive_depth * slot_bytes_),
                .length = options_.bytes,
                .lkey = mr_->lkey};
    ibv_send_wr request{};
    request.sg_list = &sge;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    const bool signal = ++sent_ % signal_interval == 0;
    request.send_flags = signal ? unsigned{IBV_SEND_SIGNALED} : 0U;
    if (ah_ != nullptr) {
      request.wr.ud = {.ah = ah_, .remote_qpn = peer_qpn_, .remote_qkey = qkey};
    }
    ibv_send_wr* bad = nullptr;
    need(ibv_post_send(qp_, &request, &bad), "ibv_post_send");
    if (signal) {
      check(wait_busy(send_cq_));
    }
  }

  void receive() {
    const ibv_wc completion = channel_ == nullptr ? wait_busy(recv_cq_) : wait_event();
    check(completion);
    post_receive(completion.wr_id);
  }

 private:
  std::size_t buffer_bytes() const { return (receive_depth + 1) * slot_bytes_; }

  static void check(const ibv_wc& completion) {
    if (completion.status != IBV_WC_SUCCESS) {
      throw std::runtime_error(fmt::format("completion in error: {}", ibv_wc_status_str(completion.status)));
    }
  }

  void post_receive(std::uint64_t slot) {
    ibv_sge sge{.addr = reinterpret_cast<std::uint64_t>(buffer_ + slot * slot_bytes_),
                .length = static_cast<std::uint32_t>(slot_bytes_),
                .lkey = mr_->lkey};
    ibv_recv_wr request{.wr_id = slot, .next = nullptr, .sg_list = &sge, .num_sge = 1};
    ibv_recv_wr* bad = nullptr;
    need(ibv_post_recv(qp_, &request, &bad), "ibv_post_recv");
  }

  static ibv_wc wait_busy(ibv_cq* cq) {
    ibv_wc completion;
    while (ibv_poll_cq(cq, 1, &completion) == 0) {
    }
    return completion;
  }

  ibv_wc wait_event() {
    ibv_wc completion;
    while (ibv_poll_cq(recv_cq_, 1, &completion) == 0) {
      ibv_cq* cq = nullptr;
      void* cq_context = nullptr;
      need(ibv_get_cq_event(channel_, &cq, &cq_context), "ibv_get_cq_event");
      ibv_ack_cq_events(cq, 1);
      need(ibv_req_notify_cq(cq, 0), "ibv_req_notify_cq");
    }
    return completion;
  }

  const Options& options_;
  ibv_context* context_;
  ibv_pd* pd_ = nullptr;
  ibv_comp_channel* channel_ = nullptr;
  ibv_cq* send_cq_ = nullptr;
  ibv_cq* recv_cq_ = nullptr;
  std::size_t slot_bytes_ = 0;
  char* buffer_ = nullptr;
  ibv_mr* mr_ = nullptr;
  ibv_qp_type type_ = IBV_QPT_UC;
  ibv_qp* qp_ = nullptr;
  ibv_ah* ah_ = nullptr;
  std::uint32_t peer_qpn_ = 0;
  std::uint32_t sent_ = 0;
};

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  need(pthread_setaffinity_np(pthread_self(), sizeof set, &set), "pthread_setaffinity_np");
}

// The round trips of one pair, in nanoseconds; each side is pinned to its core.
std::vector<std::int64_t> measure_pair(const Options& options) {
  Side ping(options);
  Side pong(options);
  ping.connect(pong);
  pong.connect(ping);
  const std::uint32_t warm_up = options.iterations / 10;
  std::thread echo([&] {
    pin(options.cores.at(1));
    for (std::uint32_t i = 0; i < warm_up + options.iterations; ++i) {
      pong.receive();
      pong.send();
    }
  });
  pin(options.cores.at(0));
  std::vector<std::int64_t> round_trips_ns(options.iterations);
  for (std::uint32_t i = 0; i < warm_up; ++i) {
    ping.send();
    ping.receive();
  }
  auto before = Clock::now();
  for (std::int64_t& round_trip_ns : round_trips_ns) {
    ping.send();
    ping.receive();
    const auto after = Clock::now();
    round_trip_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(after - before).count();
    before = after;
  }
  echo.join();
  return round_trips_ns;
}

void run(const Options& options) {
  std::vector<std::vector<std::int64_t>> of_pairs(options.pairs);
  const auto start = Clock::now();
  std::vector<std::thread> threads;
  for (auto& each : of_pairs) {
    threads.emplace_back([&] { each = measure_pair(options); });
  }
  for (std::thread& each : threads) {
    each.join();
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::vector<std::int64_t> all;
  for (const auto& each : of_pairs) {
    all.insert(all.end(), each.begin(), each.end());
  }
  std::sort(all.begin(), all.end());
  fmt::print("{} {} {} B, {} pairs: median {} ns, p99 {} ns round trip, {:.0f} round trips/s with set-up\n",
             options.transport, options.mode, options.bytes, options.pairs, all[all.size() / 2],
             all[all.size() * 99 / 100], static_cast<double>(all.size()) / seconds);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Round trip of a SEND each way between two threads of one process."};
  app.add_option("--bytes", options.bytes, "message size (UD: up to the path MTU)")->capture_default_str();
  app.add_option("--iterations", options.iterations, "round trips to time, after a tenth more to warm up")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--mode", options.mode, "how a side waits")
      ->check(CLI::IsMember({"busy", "event"}))
      ->capture_default_str();
  app.add_option("--transport", options.transport)
      ->check(CLI::IsMember({"uc", "rc", "ud"}))
      ->capture_default_str();
  app.add_option("--device", options.device)->capture_default_str();
  app.add_option("--gid-index", options.gid_index)->capture_default_str();
  app.add_option("--cores", options.cores, "where the two threads are pinned")->expected(2)->delimiter(',');
  app.add_option("--pairs", options.pairs, "pairs of threads at once, each with its own queue pairs")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "rkv_soft_pingpong: {}\n", error.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
