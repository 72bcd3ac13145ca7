// A process that takes a message and ends: its peer, another process, learns that the message has arrived.
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "tests/soft/verbs_fixture.hpp"

namespace rkv::verbs_test {
namespace {

struct Address {
  ibv_gid gid;
  std::uint32_t number;
};

// What two processes tell each other before they meet over the wire.
class Pipe {
 public:
  Pipe() { REQUIRE(::pipe(ends_.data()) == 0); }
  void tell(const Address& address) const {
    REQUIRE(::write(ends_[1], &address, sizeof address) == sizeof address);
  }
  Address hear() const {
    Address address{};
    pollfd told{.fd = ends_[0], .events = POLLIN, .revents = 0};
    REQUIRE(::poll(&told, 1, static_cast<int>(std::chrono::milliseconds(kDeadline).count())) == 1);
    REQUIRE(::read(ends_[0], &address, sizeof address) == sizeof address);
    return address;
  }

 private:
  std::array<int, 2> ends_{};
};

void connect(const Endpoint& endpoint, const Address& peer) {
  endpoint.to_init();
  ibv_qp_attr attr = endpoint.attributes(peer.number);
  attr.ah_attr.grh.dgid = peer.gid;
  attr.qp_state = IBV_QPS_RTR;
  REQUIRE(ibv_modify_qp(endpoint.qp(), &attr, Endpoint::rtr_mask(IBV_QPT_RC)) == 0);
  endpoint.to_rts(peer.number);
}

// Takes two messages and ends the process, with 0 if all went well.
[[noreturn]] void take_and_exit(const Pipe& in, const Pipe& out) {
  const Device device;
  const Endpoint endpoint(device);
  out.tell({device.gid(), endpoint.number()});
  connect(endpoint, in.hear());
  endpoint.post_recv(0, 64);
  endpoint.post_recv(64, 64);
  out.tell({});
  const bool taken = wait_completion(endpoint.recv_cq()).status == IBV_WC_SUCCESS &&
                     wait_completion(endpoint.recv_cq()).status == IBV_WC_SUCCESS;
  std::exit(taken ? 0 : 1);  // nothing is destroyed, nothing polled once more
}

}  // namespace

TEST_CASE("what a process took before it ended is acknowledged", "[wire]") {
  for (int round = 0; round < 5; ++round) {
    const Pipe to_child, to_parent;
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) take_and_exit(to_child, to_parent);
    {
      // Of a process of its own, too: one that opened the device must not fork.
      const pid_t sender = ::fork();
      if (sender == 0) {
        const Device device;
        const Endpoint endpoint(device);
        const Address peer = to_parent.hear();
        to_child.tell({device.gid(), endpoint.number()});
        connect(endpoint, peer);
        static_cast<void>(to_parent.hear());
        ibv_sge sge = endpoint.buffer.sge(0, 8);
        endpoint.post(work(IBV_WR_SEND, {&sge, 1}));
        wait_success(endpoint.send_cq());
        // Long enough for the other one to be polling as if for ever, and to put acknowledgements off.
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        endpoint.post(work(IBV_WR_SEND, {&sge, 1}));
        ::_exit(wait_completion(endpoint.send_cq()).status == IBV_WC_SUCCESS ? 0 : 1);
      }
      for (const pid_t each : {child, sender}) {
        int status = -1;
        REQUIRE(::waitpid(each, &status, 0) == each);
        INFO((each == child ? "receiver" : "sender"));
        CHECK(status == 0);
      }
    }
  }
}

}  // namespace rkv::verbs_test
