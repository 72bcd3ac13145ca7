#include "backends/verbs/soft/wire/progress.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "backends/verbs/soft/sync/short_slices.hpp"
#include "backends/verbs/soft/transport/failure.hpp"
#include "backends/verbs/soft/verbs/clock.hpp"
#include "backends/verbs/soft/verbs/limits.hpp"
#include "backends/verbs/soft/verbs/queue_pair_table.hpp"
#include "backends/verbs/soft/wire/connection.hpp"
#include "backends/verbs/soft/wire/counters.hpp"
#include "backends/verbs/soft/wire/endpoint.hpp"
#include "backends/verbs/soft/wire/inbound.hpp"
#include "backends/verbs/soft/wire/outbox.hpp"
#include "backends/verbs/soft/wire/packet.hpp"
#include "backends/verbs/soft/wire/reliable_responder.hpp"

namespace rkv::soft::wire {

std::atomic<bool> Progress::lively_{false};
std::atomic<bool> Progress::started_{false};

namespace {

constexpr std::size_t batch_packets = 32;
// What the kernel puts together of packets of one size (UDP_GRO), or one.
constexpr std::size_t received_train_bytes_max = 65'536;
// Acknowledgements wait until a poll finds the socket empty, or for so many packets.
constexpr std::size_t unacknowledged_packets_max = 32;
// So many polls in a row, with no arming between them, are a busy poll.
constexpr std::uint32_t busy_polls = 32;
constexpr int watch_ms = 1;
// Who has not polled for so long does something else. Longer than it takes the wire's thread to wake on the
// poller's own core, which keeps the poller from polling.
constexpr std::uint64_t pause_ns = 200'000;
// Of so many polls that find something one is noted.
constexpr std::uint32_t noted_finds = 8;
// Of so many polls in a row that find the lock held, one gives its core up.
constexpr unsigned held_looks = 64;
constexpr std::uint64_t one_sided_ns = 100'000'000;

// The identification of what comes next from a socket that sent the newest datagram. A socket says 0 always,
// or counts up (send_socket.hpp). A wrong guess costs time, no more.
class NextIdentification {
 public:
  NextIdentification() = default;
  NextIdentification(const Ipv4Path& path, std::uint16_t newest)
      : address_(path.source_address),
        port_(path.source_port),
        next_(newest == 0 ? std::uint16_t{0} : static_cast<std::uint16_t>(newest + 1)) {}

  std::uint16_t from(const Ipv4Path& path) const {
    return path.source_address == address_ && path.source_port == port_ ? next_ : std::uint16_t{0};
  }

 private:
  std::uint32_t address_ = 0;
  std::uint16_t port_ = 0;
  std::uint16_t next_ = 0;
};

class Receiver {
 public:
  Receiver() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    for (std::size_t i = 0; i < batch_packets; ++i) {
      places_[i] = {.iov_base = buffers_[i].data(), .iov_len = buffers_[i].size()};
      messages_[i].msg_hdr.msg_name = &sources_[i];
      messages_[i].msg_hdr.msg_iov = &places_[i];
      messages_[i].msg_hdr.msg_iovlen = 1;
      messages_[i].msg_hdr.msg_control = controls_[i].bytes.data();
    }
    due_.reserve(batch_packets);
  }

  SpinLock lock;

  // One batch; how many packets it had. The lock is held.
  std::size_t receive(Aftermath& aftermath) {
    const Endpoint& own = Endpoint::instance();
    take_datagrams(own.socket());
    for (std::size_t i = 0; i < used_; ++i) {
      const std::span<const std::byte> train = std::span(buffers_[i]).first(messages_[i].msg_len);
      Ipv4Path path{.source_address = ntohl(sources_[i].sin_addr.s_addr),
                    .destination_address = own.address(),
                    .source_port = ntohs(sources_[i].sin_port),
                    .destination_port = udp_port};
      path.identification = next_identification_.from(path);
      const std::size_t packet_bytes = cut_bytes(messages_[i].msg_hdr, train.size());
      for (std::size_t at = 0; at < train.size(); at += packet_bytes, ++path.identification) {
        const std::uint16_t found =
            take(path, train.subspan(at, std::min(packet_bytes, train.size() - at)), aftermath);
        if (at == 0) next_identification_ = NextIdentification(path, found);
      }
    }
    if (unacknowledged_ >= unacknowledged_packets_max) acknowledge_all();
    return used_;
  }

  // Any datagram, with the lock held. Its identification.
  std::uint16_t take(const Ipv4Path& path, std::span<const std::byte> datagram, Aftermath& aftermath) {
    const Receipt receipt = receive_datagram_from(path, datagram, aftermath);
    if (receipt.owes != 0) due_.push_back(receipt.owes);
    if (receipt.one_sided) last_one_sided_ns.store(monotonic_ns(), std::memory_order_relaxed);
    ++unacknowledged_;
    return receipt.identification;
  }

  // The lock is held.
  void acknowledge_all() {
    unacknowledged_ = 0;
    if (due_.empty()) return;
    for (const std::uint32_t number : due_) {
      if (QueuePair* const qp = QueuePairTable::instance().find(number); qp != nullptr)
        acknowledge_if_alive(*qp);
    }
    due_.clear();
    Outbox::of_this_thread().send();
  }

  // With the lock held, of each poll that found nothing and of some others. The wire's thread, asleep on the
  // socket, must be told of polls: packets wake it, but poll() does not return to it where the poller has
  // taken them meanwhile, so it would be woken in vain by every packet.
  void note_poll() {
    const std::uint64_t now_ns = monotonic_ns();
    const std::uint32_t now_polls = polls.load(std::memory_order_relaxed) + 1;
    polls.store(now_polls, std::memory_order_relaxed);
    last_poll_ns.store(now_ns, std::memory_order_relaxed);
    if (now_polls % busy_polls == 0 && !watching.load(std::memory_order_relaxed) &&
        now_ns - last_one_sided_ns.load(std::memory_order_relaxed) > one_sided_ns) {
      wake();
    }
  }

  std::uint32_t finds = 0;              // polls that found something; guarded by the lock
  std::atomic<std::uint32_t> polls{0};  // that were noted, since a completion queue was armed
  std::atomic<std::uint64_t> last_poll_ns{0};
  std::atomic<std::uint64_t> last_one_sided_ns{0};
  std::atomic<bool> watching{false};  // the thread leaves the socket to those who poll

  void wake() {
    constexpr std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
  }

  // For being woken and, as the second one, the socket.
  void wait(nfds_t count, int timeout_ms) const {
    std::array<pollfd, 2> awaited{
        pollfd{.fd = wake_, .events = POLLIN, .revents = 0},
        pollfd{.fd = Endpoint::instance().socket(), .events = POLLIN, .revents = 0}};
    ::poll(awaited.data(), count, timeout_ms);
    if (awaited[0].revents != 0) {
      std::uint64_t drained = 0;
      [[maybe_unused]] const auto got = ::read(wake_, &drained, sizeof drained);
    }
  }

  [[noreturn]] void run() {
    for (;;) {
      const bool others = others_poll();
      watching.store(others, std::memory_order_relaxed);
      if (others) {
        count(counters().left_to_pollers);
        wait(1, watch_ms);
      } else {
        handle_all();  // what came, or is owed, before this thread took over
        wait(2, -1);
      }
    }
  }

 private:
  // The size of the packets that the kernel put together.
  static std::size_t cut_bytes(msghdr& message, std::size_t all_bytes) {
    for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr; each = CMSG_NXTHDR(&message, each)) {
      if (each->cmsg_level == IPPROTO_UDP && each->cmsg_type == UDP_GRO) {
        int bytes = 0;
        std::memcpy(&bytes, CMSG_DATA(each), sizeof bytes);
        if (bytes > 0) return static_cast<std::size_t>(bytes);
      }
    }
    return all_bytes;
  }

  // One datagram, or up to a batch where the last two looks found something: most looks are at an empty
  // socket, and recvmsg() says so sooner than recvmmsg().
  void take_datagrams(int socket) {
    for (std::size_t i = 0; i < used_; ++i) {
      messages_[i].msg_hdr.msg_namelen = sizeof sources_[i];
      messages_[i].msg_hdr.msg_controllen = controls_[i].bytes.size();
    }
    if (found_in_a_row_ < 2) {
      const auto got_bytes = ::recvmsg(socket, &messages_[0].msg_hdr, MSG_DONTWAIT);
      used_ = got_bytes < 0 ? 0 : 1;
      if (used_ != 0) messages_[0].msg_len = static_cast<unsigned>(got_bytes);
    } else {
      const int got = ::recvmmsg(socket, messages_.data(), batch_packets, MSG_DONTWAIT, nullptr);
      used_ = got <= 0 ? 0 : static_cast<std::size_t>(got);
    }
    found_in_a_row_ = used_ == 0 ? 0 : found_in_a_row_ + 1;
  }

  static void acknowledge_if_alive(QueuePair& qp) {
    // A reset takes the connection away once nobody can be looking at it whom the state lets.
    const ibv_qp_state state = qp.state.load(std::memory_order_acquire);
    if (state == IBV_QPS_RESET || state == IBV_QPS_INIT) return;
    if (qp.remote != nullptr) acknowledge(qp);
  }

  bool others_poll() const {
    const std::uint64_t polled_ns = last_poll_ns.load(std::memory_order_acquire);
    const std::uint64_t asked_ns = last_one_sided_ns.load(std::memory_order_acquire);
    const std::uint64_t now_ns = monotonic_ns();  // later than both
    return polls.load(std::memory_order_relaxed) >= busy_polls && now_ns - polled_ns < pause_ns &&
           now_ns - asked_ns > one_sided_ns;
  }

  void handle_all() {
    std::size_t got = 0;
    do {
      Aftermath aftermath;
      {
        const std::scoped_lock hold(lock);
        got = receive(aftermath);
        acknowledge_all();
      }
      settle(aftermath);
    } while (got != 0);
  }

  const int wake_;
  // Guarded by the lock
  std::vector<std::uint32_t> due_;
  std::size_t unacknowledged_ = 0;
  NextIdentification next_identification_;
  std::array<mmsghdr, batch_packets> messages_{};
  std::array<iovec, batch_packets> places_{};
  std::array<sockaddr_in, batch_packets> sources_{};
  struct alignas(cmsghdr) Control {
    std::array<char, CMSG_SPACE(sizeof(int))> bytes;
  };
  std::array<Control, batch_packets> controls_{};
  std::size_t used_ = batch_packets;  // messages of the last batch
  std::size_t found_in_a_row_ = 0;    // batches that were not empty, up to the last one
  alignas(64) std::array<std::array<std::byte, received_train_bytes_max>, batch_packets> buffers_;
};

// Never destroyed: the thread is detached and may outlive static destruction.
Receiver& receiver() {
  static auto* const instance = new Receiver;
  return *instance;
}

}  // namespace

void Progress::start() {
  if (!Endpoint::instance().has_network()) return;
  static std::once_flag once;
  std::call_once(once, [] {
    receiver();
    started_.store(true, std::memory_order_seq_cst);
    // Not in a child that was forked: the debts are its parent's, and so is whoever holds the lock.
    static const pid_t owner = ::getpid();
    std::atexit([] {
      if (::getpid() == owner) acknowledge_at_exit();
    });
    std::thread([] {
      ask_for_short_slices();
      Receiver& own = receiver();
      own.wait(2, lively_.load(std::memory_order_relaxed) ? 0 : -1);
      lively_.store(true, std::memory_order_relaxed);
      own.run();
    }).detach();
  });
}

void Progress::expect_packets() {
  if (!Endpoint::instance().has_network()) return;
  start();
  lively_.store(true, std::memory_order_relaxed);
}

bool Progress::poll_socket() {
  Receiver& own = receiver();
  if (!own.lock.try_lock()) {
    // The holder may wait for this core.
    thread_local unsigned times_held = 0;
    if (++times_held % held_looks == 0) ::sched_yield();
    return false;
  }
  Aftermath aftermath;
  const std::size_t got = own.receive(aftermath);
  // Whoever waits for what came need not wait for the clock, too.
  if (got == 0 || ++own.finds % noted_finds == 0) own.note_poll();
  // Left for later only where somebody will look: the next poll, or the wire's thread.
  if (got == 0 || !own.watching.load(std::memory_order_relaxed)) own.acknowledge_all();
  own.lock.unlock();
  if (!aftermath.empty()) settle(aftermath);
  return got != 0;
}

void Progress::expect_sleep() {
  Receiver& own = receiver();
  own.polls.store(0, std::memory_order_relaxed);
  if (own.watching.load(std::memory_order_relaxed)) own.wake();
}

// A program may call exit() where a signal interrupted it, and the thread that it interrupted may hold the
// lock.
void Progress::acknowledge_at_exit() {
  constexpr std::uint64_t patience_ns = 20'000'000;
  const std::uint64_t deadline_ns = monotonic_ns() + patience_ns;
  Backoff backoff;
  while (!receiver().lock.try_lock()) {
    if (monotonic_ns() > deadline_ns) return;
    backoff.pause();
  }
  receiver().acknowledge_all();
  receiver().lock.unlock();
}

void Progress::acknowledge_all() {
  if (!lively_.load(std::memory_order_relaxed)) return;
  const std::scoped_lock hold(receiver().lock);
  receiver().acknowledge_all();
}

void Progress::handle(const Ipv4Path& path, std::span<const std::byte> datagram) {
  Aftermath aftermath;
  {
    const std::scoped_lock hold(receiver().lock);
    receiver().take(path, datagram, aftermath);
  }
  settle(aftermath);
}

void Progress::wait_for_handlers() {
  if (!started_.load(std::memory_order_seq_cst)) return;
  const std::scoped_lock hold(receiver().lock);
}

}  // namespace rkv::soft::wire
