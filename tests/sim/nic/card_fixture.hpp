// Two cards on a link, without threads: sends are rung at times that the test gives, completions are recorded
// with the time at which they became visible.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "backends/sim/engine/world.hpp"
#include "backends/sim/net/network.hpp"
#include "backends/sim/nic/card.hpp"
#include "backends/sim/nic/nic.hpp"
#include "backends/sim/nic/soft.hpp"

namespace rkv::sim::test {

inline constexpr Ps ns = 1'000;
inline const std::string hundred_bytes(100, 'x');
inline constexpr std::uint32_t immediate = 77;

struct Seen {
  Ps at = 0;
  Finished finished;
};

class Recorder final : public CompletionSink {
 public:
  explicit Recorder(World& world) : world_(world) {}
  void push(const Finished& finished) override { seen.push_back({world_.now(), finished}); }
  [[nodiscard]] bool wants_event() const override { return armed; }
  [[nodiscard]] bool sleeps() const override { return asleep; }
  [[nodiscard]] const Core* reader() const override { return nullptr; }
  void forget(std::uint32_t queue_pair) override { forgotten.push_back(queue_pair); }

  std::vector<Seen> seen;
  std::vector<std::uint32_t> forgotten;
  bool armed = false;
  bool asleep = false;

 private:
  World& world_;
};

// Round numbers: 1 byte/ns over PCIe, 2 bytes/ns on the link, no switch, one unit.
[[nodiscard]] NicProfile round_nic();
[[nodiscard]] NetworkProfile round_network();

template <typename CardType>
struct Pair {
  explicit Pair(const NicProfile& nic = round_nic(), const NetworkProfile& its_network = round_network(),
                std::uint64_t seed = 1)
      : world(seed),
        network(world, its_network, {{100 * ns, 500}, {100 * ns, 500}}, {}),
        fabric(world, network),
        a(fabric, nic, 0),
        b(fabric, nic, 1) {}

  // A queue pair on `card`, whose completions are recorded in `sends` and `receives`.
  std::uint32_t make(Card& card, Transport transport, std::uint32_t depth = 64, std::uint32_t max_sge = 2) {
    return card.make_queue_pair({.transport = transport,
                                 .send_completions = &sends,
                                 .receive_completions = &receives,
                                 .send_depth = depth,
                                 .receive_depth = depth,
                                 .max_sge = max_sge,
                                 .one_sided = one_sided});
  }
  // One on each card, connected.
  struct Ends {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
  };
  Ends link(Transport transport, std::uint32_t depth = 64) {
    const Ends ends{make(a, transport, depth), make(b, transport, depth)};
    a.connect(ends.a, {1, ends.b});
    b.connect(ends.b, {0, ends.a});
    return ends;
  }
  // Posts on card a, to be rung at that time. The errno of the refusal, or 0.
  int send(Ps at, Ends ends, std::string_view text, bool signalled = true, bool inlined = true,
           std::uint64_t id = 0) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
    SendWork work;
    work.id = id;
    work.bytes = sent.emplace_back(bytes.begin(), bytes.end());
    work.signalled = signalled;
    work.inlined = inlined;
    work.to = {1, ends.b};
    const Card::Posted posted = a.post_send(ends.a, work);
    if (posted.refusal == 0) world.at(at, a, Card::ring_tag(posted.message));
    return posted.refusal;
  }
  // Posts a WRITE or READ of card b's exposed memory, on card a; a READ goes to `sent`. Immediate data are
  // `immediate`.
  int access(Ps at, Ends ends, SendOperation operation, const RemoteMemory& memory, std::size_t bytes,
             bool signalled = true, bool watched = false, std::uint64_t id = 0) {
    SendWork work;
    work.id = id;
    work.operation = operation;
    work.bytes = sent.emplace_back(bytes, std::byte{'w'});
    work.signalled = signalled;
    work.watched = watched;
    work.inlined = is_write(operation);
    work.remote = memory;
    work.immediate = immediate;
    const Card::Posted posted = a.post_send(ends.a, work);
    if (posted.refusal == 0) world.at(at, a, Card::ring_tag(posted.message));
    return posted.refusal;
  }
  // Posts a receive on card b; the bytes received are in buffers, by id.
  int receive(Ends ends, std::uint64_t id, std::uint32_t length = 4096, Ps visible_from = 0) {
    if (buffers.size() <= id) buffers.resize(id + 1);
    buffers[id] = std::make_unique<std::vector<std::byte>>(length);
    return b.post_receive(ends.b, {.id = id,
                                   .bytes = buffers[id]->data(),
                                   .length = length,
                                   .address = 0,
                                   .visible_from = visible_from});
  }
  [[nodiscard]] std::string text(std::uint64_t id, std::size_t bytes, std::size_t headroom = 0) const {
    return {reinterpret_cast<const char*>(buffers[id]->data()) + headroom, bytes};
  }
  void run() { world.advance(forever); }

  World world;
  Network network;
  Fabric fabric;
  CardType a;
  CardType b;
  Recorder sends{world};
  Recorder receives{world};
  std::vector<std::unique_ptr<std::vector<std::byte>>> buffers;
  std::deque<std::vector<std::byte>> sent;  // what was posted
  bool one_sided = true;                    // of queue pairs that are made from now on
};

using Rnics = Pair<Nic>;
using Softs = Pair<SoftNic>;

}  // namespace rkv::sim::test
