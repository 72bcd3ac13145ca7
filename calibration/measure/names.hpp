// The names of samples: probes fill them, profile_of.hpp makes profile fields of them. Nanoseconds unless the
// name says otherwise. "Timed" ones were taken between two readings of the clock and hold the cost of one.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace rkv::calibration::sampled {

inline constexpr const char* clock_ghz = "clock_ghz";    // cycles a nanosecond
inline constexpr const char* clock_read = "clock_read";  // one time stamp

inline constexpr const char* walk_prefix = "walk/";
// The same of chains that were walked so long before, and only others since.
inline constexpr const char* walk_again_prefix = "walk_again/";
inline constexpr double again_after_ns = 1e6;
inline constexpr const char* kept = "kept";              // 0: pauses made no difference
inline constexpr const char* lost_entry = "lost_entry";  // neighbours.hpp
inline constexpr const char* line_prefix = "line/";
inline constexpr const char* store_operation = "store_operation";
inline constexpr const char* format_key = "format_key";
inline constexpr const char* copy_per_byte = "copy_per_byte";
inline constexpr const char* bandwidth_bytes_per_ns = "bandwidth_bytes_per_ns";

inline constexpr const char* lock = "lock";  // or unlock
// Timed: to another CPU and back by one cache line, and with the lock taken and released on either side.
inline constexpr const char* turns = "turns";
inline constexpr const char* locks_and_turns = "locks_and_turns";

inline constexpr const char* system_call = "system_call";
inline constexpr const char* event_write = "event_write";      // eventfd, nobody waits
inline constexpr const char* event_read = "event_read";        // what was written
inline constexpr const char* thread_made = "thread_made";      // from before it is made to its first step
inline constexpr const char* thread_begun = "thread_begun";    // and until it has its name and cores
inline constexpr const char* thread_switch = "thread_switch";  // by sched_yield, less the call
inline constexpr const char* wake_write = "wake_write";  // timed: a write that wakes a thread of another CPU
inline constexpr const char* wake_event = "wake_event";  // from before that write until it has read
// From when a thread is about to sleep: until its CPU halts, and until it has read what was written before.
inline constexpr const char* halts_after = "halts_after";
inline constexpr const char* read_before_halt = "read_before_halt";
// Timed: a write that wakes a thread of the own CPU, or of another one that is busy, which does not preempt
// who runs there; and one that does. What the latter takes of the thread that runs there, switches and what
// the woken one does included.
inline constexpr const char* wake_write_here = "wake_write_here";
inline constexpr const char* wake_preempting_here = "wake_preempting_here";  // returns when that one sleeps
inline constexpr const char* wake_write_busy = "wake_write_busy";
inline constexpr const char* wake_preempting = "wake_preempting";
inline constexpr const char* lost_to_wake = "lost_to_wake";
// CPU time a wake-up, of the waking and the woken thread: eventfd, pairs of threads on one CPU: a few, many.
inline constexpr const char* wake_together = "wake_together";
inline constexpr const char* wake_crowded = "wake_crowded";
inline constexpr unsigned few_doublings = 3;  // of one pair: as many as there are but for that
inline constexpr unsigned few_pairs = 1U << few_doublings;
inline constexpr unsigned crowded_doublings = 3;  // of few_pairs
inline constexpr unsigned many_pairs = few_pairs << crowded_doublings;
// The same of twice few_pairs on two CPUs, each thread on either.
inline constexpr const char* wake_beside = "wake_beside";
// One pair, and few_pairs, of which one thread each sleeps by epoll: until it is woken, and with a deadline
// far off.
inline constexpr const char* wake_epoll_alone = "wake_epoll_alone";
inline constexpr const char* wake_deadline_alone = "wake_deadline_alone";
inline constexpr const char* wake_epoll_together = "wake_epoll_together";
inline constexpr const char* wake_deadline_together = "wake_deadline_together";
// As wake_together, of pairs of which each has one thread on either CPU: so many that neither CPU waits for
// the other (a wake-up takes 9.0 us more than within one with 8 pairs, 4.9 with 16, 3.9 with 32 and 4.2 with
// 64: rkv_bench_pairs --turns 20).
inline constexpr unsigned apart_doublings = 1;  // of the threads on a CPU, from wake_together
inline constexpr unsigned apart_pairs = 2 * few_pairs << apart_doublings;
inline constexpr const char* wake_apart = "wake_apart";
inline constexpr const char* preempts_apart = "preempts_apart";  // then, threads that lost their CPU
inline constexpr const char* wake_futex = "wake_futex";          // the same through a futex

inline constexpr const char* tick = "tick";
inline constexpr const char* background = "background";  // switches a second of who spins alone on a CPU
inline constexpr const char* background_long = "background_long";  // of these: for 0.1 ms and more
inline constexpr const char* background_run = "background_run";    // how long each of those was away
inline constexpr const char* heavy_part = "heavy_part";  // of the time of threads that run for so long
inline constexpr const char* heavy_weight = "heavy_weight";
inline constexpr const char* long_changing = "long_changing";  // of their turns: on another CPU
inline constexpr const char* slice_prefix = "slice/";          // by the number of spinning threads
inline constexpr const char* smt_alone = "smt_alone";
inline constexpr const char* smt_beside = "smt_beside";  // the same work while the sibling is busy

// By transport: "rc", "uc", "ud".
inline constexpr std::uint32_t small_message_bytes = 64;
inline constexpr std::uint32_t large_message_bytes = 2048;
inline constexpr const char* post_receive = "post_receive";        // timed
inline constexpr const char* post_send_small = "post_send_small";  // timed: with what soft0 does in it
inline constexpr const char* post_send_large = "post_send_large";  // timed
inline constexpr const char* poll_receive = "poll_receive";        // timed
inline constexpr const char* poll_send = "poll_send";              // timed
inline constexpr const char* empty_poll = "empty_poll";
inline constexpr const char* arm = "arm";
inline constexpr const char* post_send_armed =
    "post_send_armed";  // timed: within one CPU, with an event that nobody sleeps for
inline constexpr const char* take_event =
    "take_event";  // timed: epoll_pwait2, event, acknowledged, armed again
// Timed, within one CPU: so many small messages and receives, each by a post of its own, and by one post.
inline constexpr std::uint32_t posted_together = 8;
inline constexpr const char* sends_apart = "sends_apart";
inline constexpr const char* sends_together = "sends_together";
inline constexpr const char* receives_apart = "receives_apart";
inline constexpr const char* receives_together = "receives_together";
inline constexpr const char* round_trip = "round_trip";  // of small messages between two CPUs, both spin
// Timed: the same of messages as long as a request of the thesis, of which both sides read the header, and
// all.
inline constexpr std::uint32_t request_bytes = 352;
inline constexpr const char* round_trip_unread = "round_trip_unread";
inline constexpr const char* round_trip_read = "round_trip_read";
inline constexpr const char* post_send_unreceived = "uc/post_send_unreceived";  // timed: peer is gone
inline constexpr const char* post_send_waking = "uc/post_send_waking";  // timed: a thread sleeps for it
// Timed: within one CPU.
inline constexpr const char* post_send_here = "uc/post_send_here";
inline constexpr const char* post_send_waking_here = "uc/post_send_waking_here";
inline constexpr const char* poll_receive_here = "uc/poll_receive_here";
// Of small messages between two CPUs, both sides sleep until theirs comes; less the pauses before them.
inline constexpr const char* event_round_trip = "uc/event_round_trip";
// wake_together by small messages' completion events; and the same, and wake_crowded, by all that a run does
// between two waits but the service (paired_as_in_run()).
inline constexpr const char* event_together = "uc/event_together";
inline constexpr const char* run_together = "uc/run_together";
inline constexpr const char* run_crowded = "uc/run_crowded";
inline constexpr const char* tcp_event_round_trip = "tcp/event_round_trip";
inline constexpr const char* tcp_event_more = "tcp/event_more";  // than UC, just before

inline constexpr std::uint32_t tcp_small_bytes = 64;
inline constexpr std::uint32_t tcp_large_bytes = 16'384;
inline constexpr const char* tcp_send_small = "tcp/send_small";        // timed
inline constexpr const char* tcp_send_large = "tcp/send_large";        // timed
inline constexpr const char* tcp_receive_small = "tcp/receive_small";  // timed
inline constexpr const char* tcp_receive_large = "tcp/receive_large";  // timed
inline constexpr const char* tcp_empty_receive = "tcp/empty_receive";
inline constexpr const char* tcp_epoll = "tcp/epoll";        // that finds one ready
inline constexpr const char* tcp_together = "tcp/together";  // wake_together, by small messages
inline constexpr const char* tcp_crowded = "tcp/crowded";    // wake_crowded, by them
// The same, when one of each pair waits in select(2) for its messages.
inline constexpr const char* tcp_together_select = "tcp/together_select";
inline constexpr const char* tcp_round_trip = "tcp/round_trip";

[[nodiscard]] inline std::string walk(std::uint64_t working_set_bytes) {
  return fmt::format("{}{:012}", walk_prefix, working_set_bytes);  // in order of size
}
[[nodiscard]] inline std::string walk_again(std::uint64_t working_set_bytes) {
  return fmt::format("{}{:012}", walk_again_prefix, working_set_bytes);
}
[[nodiscard]] inline std::string line(std::uint64_t working_set_bytes) {
  return fmt::format("{}{:012}", line_prefix, working_set_bytes);
}
[[nodiscard]] inline std::string slice(unsigned threads) {
  return fmt::format("{}{}", slice_prefix, threads);
}
[[nodiscard]] inline std::string of(std::string_view transport, std::string_view what) {
  return fmt::format("{}/{}", transport, what);
}

}  // namespace rkv::calibration::sampled
