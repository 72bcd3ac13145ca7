// The sleeping half of a wait set: an epoll instance over completion channels, streams and the stop flag.
//
// Threads that wait for the same queue, each by a wait set of its own, share one instance. With one each, the
// kernel would go through all of them for every event and every token, also those of threads that are awake
// (fs/eventpoll.c, ep_poll_callback()): with 64 threads that is most of what a wake-up costs. A queue's
// descriptors are edge-triggered, so that a write wakes one sleeper, and handing its event to that one does
// not wake the next.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backends/verbs/port/completion_queue.hpp"
#include "backends/verbs/port/file_descriptor.hpp"
#include "backends/verbs/port/stop_flag.hpp"
#include "backends/verbs/port/tcp_stream.hpp"
#include "core/port/time.hpp"

namespace rkv::verbs {

// One thread at a time. Queues must be blockable. What it is given must outlive it.
class EventPoll {
 public:
  // Throws rkv::Error.
  EventPoll(std::span<VerbsCompletionQueue* const> queues, std::span<TcpStream* const> streams,
            const EventStopFlag& stop);

  // Sleeps until an event or the deadline, one system call. Events of completion queues are consumed and the
  // queues armed again; streams that can be read are marked in ready(), streams that can be written flushed.
  // False when the deadline passed without an event. Throws rkv::Error.
  bool sleep(Instant deadline);

  // Streams that had something to read and were not read dry since; the caller resets what it read dry.
  [[nodiscard]] bool ready(std::size_t stream) const { return watches_[stream].ready; }
  void set_ready(std::size_t stream, bool ready) { watches_[stream].ready = ready; }

 private:
  struct Watch {
    std::uint32_t events = 0;  // as registered; 0: not at all
    bool ready = false;
  };
  enum class Kind : std::uint8_t { channel, hand_over, stream, stop };

  // The instance of those who wait for this queue alone and for that flag.
  static std::shared_ptr<const FileDescriptor> shared_epoll(VerbsCompletionQueue& queue,
                                                            const EventStopFlag& stop);
  static std::shared_ptr<const FileDescriptor> make_epoll(std::span<VerbsCompletionQueue* const> queues,
                                                          const EventStopFlag& stop);
  static std::uint64_t data(Kind kind, std::size_t index);

  void update_watches();
  void handle(const epoll_event& event);

  std::span<VerbsCompletionQueue* const> queues_;
  std::span<TcpStream* const> streams_;
  std::shared_ptr<const FileDescriptor> epoll_;
  std::vector<Watch> watches_;
  std::vector<epoll_event> events_;  // as many as there are descriptors: a wake-up takes all that it was for
};

}  // namespace rkv::verbs
