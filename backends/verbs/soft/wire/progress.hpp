// Who reads the socket: threads that poll an empty completion queue, and a thread of the wire's own while
// nobody does (one-sided requests, waits for events).
//
// One lock, the wire's, is held by whoever handles packets. It comes after the queue pair table's mutex and
// before every send lock; a queue pair and the address behind a key may be used under it as under a send
// lock.
//
// The wire's thread sleeps in poll() on the socket. When it finds that others poll, of which they tell it, it
// leaves the socket to them and looks again each millisecond, until nobody polls or somebody arms a
// completion queue, which wakes it. While one-sided requests come it stays with the socket: whom they are for
// may look at memory only.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>

#include "backends/verbs/soft/sync/spin_lock.hpp"
#include "backends/verbs/soft/wire/icrc.hpp"

namespace rkv::soft::wire {

class Progress {
 public:
  // From now on packets may come: starts the thread, once. Does nothing in a process without a network.
  static void start();

  // From a poll that found nothing. True: packets were handled, so another look may find something. Costs one
  // load while no packet has come yet and none was expected.
  static bool poll() { return lively_.load(std::memory_order_relaxed) && poll_socket(); }
  // A completion queue was armed: somebody is about to sleep.
  static void note_armed() {
    if (lively_.load(std::memory_order_relaxed)) expect_sleep();
  }
  // A connection to another process was made: polls look at the socket from now on.
  static void expect_packets();

  // Sends what acknowledgements are owed: before a queue pair ends that may owe one.
  static void acknowledge_all();

  // One datagram, as if the socket had brought it. What is owed for it is acknowledged as ever: by a poll
  // that finds nothing.
  static void handle(const Ipv4Path& path, std::span<const std::byte> datagram);

  // Everybody who handles packets has let go of what they found before the call.
  static void wait_for_handlers();

 private:
  static bool poll_socket();
  static void acknowledge_at_exit();
  static void expect_sleep();

  static std::atomic<bool> lively_;
  static std::atomic<bool> started_;
};

}  // namespace rkv::soft::wire
