// Random work on one RC connection against a model: two plain arrays to which the same operations are applied
// one after the other. Seeded by RKV_TEST_SEED, so that a failure can be repeated.
#include <array>
#include <deque>
#include <random>

#include "tests/soft/verbs_fixture.hpp"

namespace rkv::verbs_test {
namespace {

constexpr std::size_t kLocalBytes = 32 * 1024;  // a's memory: sources, and results of reads and atomics
constexpr std::size_t kRemoteBytes = 4 * 1024;  // the front of b's memory: target of one-sided work
constexpr std::size_t kReceiveBytes = 1024;     // each of b's receives lies behind it
constexpr std::size_t kBatch = 24;

std::uint32_t seed_from_environment() {
  const char* text = std::getenv("RKV_TEST_SEED");
  return text != nullptr ? static_cast<std::uint32_t>(std::strtoul(text, nullptr, 0)) : 20240229U;
}

class Model {
 public:
  Model(const Pair& pair, std::uint32_t seed)
      : pair_(pair), random_(seed), local_(pair.a.buffer.size()), remote_(pair.b.buffer.size()) {
    for (std::size_t i = 0; i < local_.size(); ++i)
      pair.a.buffer.data()[i] = local_[i] = static_cast<std::byte>(random_());
    for (std::size_t i = 0; i < remote_.size(); ++i)
      pair.b.buffer.data()[i] = remote_[i] = static_cast<std::byte>(random_());
  }

  // Posts a batch of random work requests in random lists, waits for all, and compares everything there is to
  // see.
  void run_batch() {
    expected_send_.clear();
    expected_receive_.clear();
    requests_.clear();
    sges_.clear();
    receive_slot_ = 0;
    results_used_ = false;
    for (std::size_t i = 0; i < kBatch; ++i) add_request(i + 1 == kBatch);
    post_in_lists();
    check_completions();
    REQUIRE(std::memcmp(pair_.a.buffer.data(), local_.data(), local_.size()) == 0);
    REQUIRE(std::memcmp(pair_.b.buffer.data(), remote_.data(), remote_.size()) == 0);
  }

 private:
  struct Completion {
    std::uint64_t id;
    ibv_wc_opcode opcode;
    std::uint32_t bytes;
    std::uint32_t immediate;
  };

  std::size_t below(std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_);
  }

  // 1 to 4 pieces of a's memory: from the lower half for sources, from a fresh part of the upper for results.
  std::vector<ibv_sge>& pieces(std::size_t bytes, bool result) {
    auto& list = sges_.emplace_back();
    std::size_t left = bytes;
    const std::size_t count = 1 + below(4);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t length = i + 1 == count ? left : below(left + 1);
      std::size_t offset = below(kLocalBytes / 2 - length);
      if (result) {
        offset = kLocalBytes / 2 + result_end_ % (kLocalBytes / 2);
        if (offset + length > kLocalBytes) offset = kLocalBytes / 2;
        result_end_ = offset - kLocalBytes / 2 + length;
      }
      list.push_back(pair_.a.buffer.sge(offset, length));
      left -= length;
    }
    return list;
  }
  std::vector<std::byte> gathered(const std::vector<ibv_sge>& list) const {
    std::vector<std::byte> bytes;
    for (const ibv_sge& sge : list) {
      const std::byte* from = local_.data() + (sge.addr - pair_.a.buffer.address());
      bytes.insert(bytes.end(), from, from + sge.length);
    }
    return bytes;
  }
  void scatter(const std::vector<ibv_sge>& list, const std::byte* from) {
    for (const ibv_sge& sge : list) {
      std::copy_n(from, sge.length, local_.data() + (sge.addr - pair_.a.buffer.address()));
      from += sge.length;
    }
  }

  void add_request(bool last) {
    constexpr std::array kOpcodes{
        IBV_WR_SEND,      IBV_WR_SEND_WITH_IMM,      IBV_WR_RDMA_WRITE,          IBV_WR_RDMA_WRITE_WITH_IMM,
        IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD};
    const ibv_wr_opcode opcode = kOpcodes[below(kOpcodes.size())];
    const bool atomic = opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    const bool result = atomic || opcode == IBV_WR_RDMA_READ;
    const std::size_t bytes = atomic ? 8 : below(4) == 0 ? below(17) : below(700);
    auto& list = pieces(bytes, result);
    ibv_send_wr& wr = requests_.emplace_back(work(opcode, list, next_id_++, 0));
    const bool signalled = last || below(3) == 0;
    if (signalled) wr.send_flags |= IBV_SEND_SIGNALED;
    // What follows a read or an atomic is ordered behind it only by a fence (11.5, table of work request
    // ordering).
    if (results_used_) wr.send_flags |= IBV_SEND_FENCE;
    results_used_ |= result;
    if (!result && bytes <= pair_.a.cap.max_inline_data && below(2) == 0) wr.send_flags |= IBV_SEND_INLINE;

    const std::size_t target = atomic ? 8 * below(kRemoteBytes / 8) : below(kRemoteBytes - bytes);
    const bool immediate = opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    if (immediate) wr.imm_data = static_cast<std::uint32_t>(random_());
    ibv_wc_opcode completes_as = IBV_WC_SEND;
    if (opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM) {
      const std::size_t slot = post_receive();
      const auto data = gathered(list);
      std::copy(data.begin(), data.end(), remote_.begin() + static_cast<std::ptrdiff_t>(slot));
      expect_receive(IBV_WC_RECV, bytes, immediate ? wr.imm_data : 0);
    } else if (opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
      completes_as = IBV_WC_RDMA_WRITE;
      wr.wr.rdma.remote_addr = pair_.b.buffer.address(target);
      wr.wr.rdma.rkey = pair_.b.buffer.rkey();
      const auto data = gathered(list);
      std::copy(data.begin(), data.end(), remote_.begin() + static_cast<std::ptrdiff_t>(target));
      if (immediate) {
        post_receive();
        expect_receive(IBV_WC_RECV_RDMA_WITH_IMM, bytes, wr.imm_data);
      }
    } else if (opcode == IBV_WR_RDMA_READ) {
      completes_as = IBV_WC_RDMA_READ;
      wr.wr.rdma.remote_addr = pair_.b.buffer.address(target);
      wr.wr.rdma.rkey = pair_.b.buffer.rkey();
      scatter(list, remote_.data() + target);
    } else {
      completes_as = opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? IBV_WC_COMP_SWAP : IBV_WC_FETCH_ADD;
      std::uint64_t value = 0;
      std::memcpy(&value, remote_.data() + target, 8);
      const std::uint64_t before = value;
      wr.wr.atomic.remote_addr = pair_.b.buffer.address(target);
      wr.wr.atomic.rkey = pair_.b.buffer.rkey();
      wr.wr.atomic.compare_add = opcode == IBV_WR_ATOMIC_CMP_AND_SWP && below(2) == 0 ? value : random_();
      wr.wr.atomic.swap = random_();
      if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
        value += wr.wr.atomic.compare_add;
      else if (value == wr.wr.atomic.compare_add)
        value = wr.wr.atomic.swap;
      std::memcpy(remote_.data() + target, &value, 8);
      scatter(list, reinterpret_cast<const std::byte*>(&before));
    }
    if (signalled) expected_send_.push_back({wr.wr_id, completes_as, static_cast<std::uint32_t>(bytes), 0});
  }

  // Posts b's next receive, of a length that holds any message, and gives its offset.
  std::size_t post_receive() {
    const std::size_t slot = kRemoteBytes + receive_slot_++ * kReceiveBytes;
    pair_.b.post_recv(slot, kReceiveBytes, next_receive_++);
    return slot;
  }
  void expect_receive(ibv_wc_opcode opcode, std::size_t bytes, std::uint32_t immediate) {
    expected_receive_.push_back({next_receive_ - 1, opcode, static_cast<std::uint32_t>(bytes), immediate});
  }

  void post_in_lists() {
    for (std::size_t first = 0; first < requests_.size();) {
      const std::size_t count = std::min(1 + below(6), requests_.size() - first);
      for (std::size_t i = first; i + 1 < first + count; ++i) requests_[i].next = &requests_[i + 1];
      ibv_send_wr* bad = nullptr;
      REQUIRE(ibv_post_send(pair_.a.qp(), &requests_[first], &bad) == 0);
      first += count;
    }
  }

  void check_completions() {
    for (const Completion& expected : expected_send_) {
      const ibv_wc wc = wait_success(pair_.a.send_cq());
      REQUIRE(wc.wr_id == expected.id);
      REQUIRE(wc.opcode == expected.opcode);
    }
    require_empty(pair_.a.send_cq());
    for (const Completion& expected : expected_receive_) {
      const ibv_wc wc = wait_success(pair_.b.recv_cq());
      REQUIRE(wc.wr_id == expected.id);
      REQUIRE(wc.opcode == expected.opcode);
      REQUIRE(wc.byte_len == expected.bytes);
      if ((wc.wc_flags & IBV_WC_WITH_IMM) != 0) REQUIRE(wc.imm_data == expected.immediate);
    }
    require_empty(pair_.b.recv_cq());
  }

  const Pair& pair_;
  std::mt19937_64 random_;
  std::vector<std::byte> local_, remote_;
  std::deque<std::vector<ibv_sge>> sges_;
  std::deque<ibv_send_wr> requests_;
  std::vector<Completion> expected_send_, expected_receive_;
  std::uint64_t next_id_ = 0, next_receive_ = 0;
  std::size_t receive_slot_ = 0, result_end_ = 0;
  bool results_used_ = false;
};

}  // namespace

TEST_CASE("random work on an RC connection has the effect of doing it one by one", "[order]") {
  const std::uint32_t seed = seed_from_environment();
  const Device device;
  EndpointOptions a, b;
  a.buffer_bytes = kLocalBytes;
  b.buffer_bytes = kRemoteBytes + kBatch * kReceiveBytes;
  const Pair pair(device, a, b);
  Model model(pair, seed);
  for (int batch = 0; batch < 300; ++batch) {
    INFO("seed " << seed << ", batch " << batch << "; repeat with RKV_TEST_SEED=" << seed);
    model.run_batch();
  }
}

}  // namespace rkv::verbs_test
