// GETs past the server's CPU, from a store of items (core/store/item_store.hpp): the client READs the item
// where it lies. Where that is it remembers, or else asks the server first. An item that is gone when it is
// READ, because it was replaced meanwhile, is asked for anew.
//
// One object a client over slots, which sends and receives for it. A GET's request lies in its slot until it
// is answered and is read here again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/exchange/direct_get_counts.hpp"
#include "core/exchange/slots/pointer_cache.hpp"
#include "core/message/messages.hpp"
#include "core/port/wait.hpp"

namespace rkv {

class DirectGets {
 public:
  // The port outlives it.
  DirectGets(const Port& port, const Scenario& scenario);

  void connect(const RemoteMemory& items) { items_ = items; }

  // Of each request before it is sent. True: it is a GET whose item's place is remembered, and a READ is to
  // be posted instead. Other GETs are made to ask for the place. `request` stays until it is answered.
  [[nodiscard]] bool begin(std::uint32_t slot, std::span<std::byte> request);
  // Of each response to a slot of ours. One that was to tell the place and tells nothing becomes an
  // unknown_error.
  enum class Meaning : std::uint8_t {
    answer,   // is the client's
    pointer,  // told the place: a READ is to be posted
    nothing,  // came while an item is READ, when nobody was asked
  };
  [[nodiscard]] Meaning meaning(ResponseView& response);
  // The READ that is to be posted, signalled.
  [[nodiscard]] SendRequest read(std::uint32_t slot, std::uint64_t id) const;
  // Its completion came.
  void ended(std::uint32_t slot) { ended_.push_back(slot); }

  [[nodiscard]] bool any_ended() const { return !ended_.empty(); }
  // The next READ that ended, of which there is one: its slot, and the response that its item makes, whose
  // value is valid until the slot's next request. No response: the item is gone, and the request, which now
  // asks for its place, is to be sent.
  struct Ended {
    std::uint32_t slot = 0;
    std::uint32_t request_bytes = 0;
    std::optional<ResponseView> response;
  };
  [[nodiscard]] Ended take_ended();

  [[nodiscard]] const DirectGetCounts& counts() const { return counts_; }

 private:
  struct Get {
    std::span<std::byte> bytes;
    RequestView request;
    enum class Phase : std::uint8_t { plain, asking, reading } phase = Phase::plain;
    ItemPointer pointer;  // that is READ
  };
  void ask(Get& get);

  Runtime& runtime_;
  const MessageFormat format_;
  const std::uint32_t stride_;  // of the buffers for items
  PointerCache places_;
  std::unique_ptr<MemoryRegion> buffers_;
  RemoteMemory items_;
  std::vector<Get> gets_;             // a slot each
  std::vector<std::uint32_t> ended_;  // slots
  DirectGetCounts counts_;
};

}  // namespace rkv
