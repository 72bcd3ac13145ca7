// Two queue pairs of one device, connected with each other, with their completion queues, wait sets and
// memory: what rkv's own client and worker use, without anything around it. One thread an end.
//
// As in a run, receives are posted ahead, so that a sender finds one without the cache line that the receiver
// wrote last, and messages go to one buffer after the other.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "calibration/measure/pairs.hpp"
#include "core/port/wait.hpp"

namespace rkv::calibration {

class VerbsEnd {
 public:
  static constexpr std::uint32_t most_message_bytes = 4096;

  // Posts all receives but one that the thesis's programs have posted. `stop` is never requested. All it is
  // given must outlive it.
  VerbsEnd(const Port& port, Transport transport, bool blockable, const StopFlag& stop);

  void connect(const VerbsEnd& peer);

  // Throw rkv::Error when the device refuses, or completes with an error.
  void post_receive() { post_receives(1); }
  void post_send(std::uint32_t bytes) { post_sends(bytes, 1); }
  // By one post, at most as many as sampled::posted_together.
  void post_receives(std::uint32_t count);
  void post_sends(std::uint32_t bytes, std::uint32_t count);
  // Spin until there is one. Of what was received the beginning is read, as a message's header is, and its
  // cache line comes from who wrote it.
  void take_receive();
  // All of the message that was taken last, of so many bytes: copies it.
  void read_message(std::uint32_t bytes);
  void take_send() { static_cast<void>(take(*send_waits_)); }
  // Sleeps until there is one, and reads the same. Of blockable ends.
  void await_receive();
  // By its event, even if it is there. Of blockable ends; one send at a time.
  void await_send();
  // So many looks for a receive, in vain.
  void look_for_receive(std::uint64_t looks);

  [[nodiscard]] CompletionQueue& receives() { return *receives_; }

 private:
  // The work request's number.
  std::uint64_t take(WaitSet& set);
  void read_header(std::uint64_t number);
  void check(const Completion& completion) const;
  // Of the receive with this number.
  [[nodiscard]] static std::uint32_t buffer_at(std::uint64_t number);

  const Port& port_;
  Transport transport_;
  std::unique_ptr<MemoryRegion> memory_;
  std::unique_ptr<CompletionQueue> sends_;
  std::unique_ptr<CompletionQueue> receives_;
  std::unique_ptr<QueuePair> pair_;
  std::unique_ptr<AddressHandle> peer_;  // UD
  std::unique_ptr<WaitSet> send_waits_;
  std::unique_ptr<WaitSet> receive_waits_;
  std::uint64_t posted_ = 0;            // receives so far
  std::span<const std::byte> message_;  // that was taken last, up to its buffer's end
  std::vector<std::byte> copy_;
};

struct VerbsLink {
  VerbsLink(const Port& port, Transport transport, bool blockable, const StopFlag& stop)
      : here(port, transport, blockable, stop), there(port, transport, blockable, stop) {
    here.connect(there);
    there.connect(here);
  }
  VerbsEnd here;
  VerbsEnd there;
};

// An end from which small messages wake who sleeps at the other one. Both must be blockable; receives are the
// caller's to post.
[[nodiscard]] PairedSide paired_by_events(VerbsEnd& end);
// The same, of an end that posts a receive for each that it took.
[[nodiscard]] PairedSide paired_with_receives(VerbsEnd& end);
// The same with all that a run does between two waits but the service: messages as long as a request, of
// which all is read, and sends that are awaited by their events.
[[nodiscard]] PairedSide paired_as_in_run(VerbsEnd& end);

}  // namespace rkv::calibration
