// Items (core/store/item_region.hpp) that a peer READs while their owner replaces them.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <mutex>
#include <vector>

#include "core/store/item_region.hpp"
#include "tests/port/one_sided.hpp"

namespace rkv::test {
namespace {

using namespace std::chrono_literals;

// What an update lets others know, as a server's answer would.
class NamedItem {
 public:
  void name(const ItemPointer& pointer) {
    const std::lock_guard guard(lock_);
    pointer_ = pointer;
  }
  [[nodiscard]] ItemPointer pointer() const {
    const std::lock_guard guard(lock_);
    return pointer_;
  }

 private:
  mutable std::mutex lock_;  // never held while simulated time passes
  ItemPointer pointer_;
};

TEST_CASE("a peer that READs an item while it is replaced takes no torn, recycled or outdated one",
          "[items]") {
  constexpr std::uint64_t updates = 300;
  constexpr std::uint32_t value_words = 80;
  constexpr std::uint32_t value_bytes = value_words * sizeof(std::uint64_t);
  const auto key = std::as_bytes(std::span("an item's key", 13));
  const auto item_limit_bytes = static_cast<std::uint32_t>(key.size()) + value_bytes;
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Side server(ports.server, Transport::rc, {.one_sided = true});
    Side client(ports.client, Transport::rc, {});
    connect(ports, server, client);
    // Two places: each update writes over the item that the one before retired.
    const auto memory = ports.server.device->make_exposed_region(
        2 * std::size_t{ItemRegion::place_bytes(item_limit_bytes)}, PeerAccess::read);
    ItemRegion items(*ports.server.runtime, *memory, item_limit_bytes);
    NamedItem named;
    std::atomic<std::uint64_t> acknowledged{0};
    std::atomic<int> refused{0};
    const auto stop = ports.server.runtime->make_stop_flag();
    const auto writer = ports.server.runtime->spawn({"writer", {}}, [&] {
      Runtime& runtime = *ports.server.runtime;
      std::vector<std::byte> scratch(ItemRegion::place_bytes(item_limit_bytes));
      std::vector<std::uint64_t> value(value_words);
      ItemPointer current;
      for (std::uint64_t version = 1; version <= updates; ++version) {
        std::ranges::fill(value, version);
        const auto placed = items.place(key, std::as_bytes(std::span(value)), scratch);
        if (!placed) {
          ++refused;
          return;
        }
        if (version > 1) items.retire(current);
        current = *placed;
        named.name(current);
        (void)runtime.now();  // an answer would leave when all before it has been paid for
        acknowledged = version;
        runtime.sleep_until(runtime.now() + 10us, *stop);
      }
    });
    const StopAtExit end(*stop);

    ItemPointer pointer;
    int stale = 0;
    const auto read_version = [&]() -> std::uint64_t {
      const std::uint32_t length = item_bytes(pointer);
      const RemoteMemory from = memory->remote().behind(pointer.offset);
      REQUIRE(client.pair->post_send(one_sided(SendOperation::read, client, 1, length, from)) == 0);
      REQUIRE(take(How::spin, *client.sends).completion.status == CompletionStatus::ok);
      const auto value = value_of_item(client.payload(1).first(length), pointer, key);
      if (!value) return 0;
      REQUIRE(value->size() == value_bytes);
      std::vector<std::uint64_t> versions(value_words);
      std::ranges::copy(*value, std::as_writable_bytes(std::span(versions)).begin());
      CHECK(std::ranges::count(versions, versions.front()) == value_words);
      return versions.front();
    };
    for (std::uint64_t newest = 0; newest < updates && refused == 0;) {
      const std::uint64_t oldest = std::max(newest, acknowledged.load());
      if (pointer.word == 0) pointer = named.pointer();
      const std::uint64_t version = pointer.word == 0 ? 0 : read_version();
      if (version == 0) {
        ++stale;
        pointer = {};
        ports.client.runtime->sleep_until(ports.client.runtime->now() + 1us, *client.stop);
        continue;
      }
      CHECK(version >= oldest);
      newest = version;
    }
    CHECK(refused == 0);
    CHECK(read_version() == updates);  // nobody replaces it any more
    if (overlaps_are_certain()) CHECK(stale > 0);
  });
}

}  // namespace
}  // namespace rkv::test
