// A client that posts one operation of verbs over and over, over queue pairs drawn at random: a SEND that the
// other side receives, or a WRITE, a READ or an atomic operation on memory that it exposes. With READs and
// WRITEs this is the program rc_swarm of rdma_bench (Kalia, Kaminsky, Andersen, "Design guidelines for high
// performance RDMA systems", ATC 2016; "FaSST", OSDI 2016), which shows how a card gets on with many queue
// pairs; with one queue pair, the microbenchmark of Hemmatpour, Montrucchio, Rebaudengo ("Communicating
// efficiently on cluster-based RDMA over InfiniBand protocol", Applied Sciences 8(11):2034, 2018).
//
// Places in memory are drawn, there for each operation, here within the first line of its slot where less
// than a line aligns them and no look at memory tells of the end, as rc_swarm has it.
//
// Operation k of a client uses slot k % window. The client learns of the end of an operation that is
// signalled or watched, and its slot is taken until then. Of each queue pair's requests one in
// signal_interval is signalled, the first of so many, and the last of them waits for its completion. With an
// interval of 1 nothing waits for anything but its slot. Where nobody watches, the last operations of a
// quota are signalled too, one on each queue pair, so that all of the quota is counted. With `rounds` the
// client posts all of a window and then waits for all of it, as SMART's test_rdma does (Ren et al., ASPLOS
// 2024).
//
// With a doorbell_batch the client waits until so many slots are free, and posts their operations together,
// on one queue pair; what it has is posted before it waits for another reason.
//
// Clients that have their queue pairs in common (queue_group.hpp) look at the completion queue in turn, until
// their own ends have come.
//
// Latency, of operations whose end the client learns of, is from just before the post, or from when it was
// put to a batch, to when the end was taken. Operations are counted when their end is learned of, or that of
// a later one of their queue pair. One object a client thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/completion/waiter.hpp"
#include "core/measure/histogram.hpp"
#include "core/verbs_load/queue_group.hpp"
#include "core/workload/load_schedule.hpp"
#include "core/workload/rng.hpp"

namespace rkv {

// What it measured: operations that ended behind the warm-up.
struct VerbsLoadMeasurement {
  std::uint64_t operations = 0;
  Histogram latency;
  Instant first = Instant::max();  // the first and the last end that count
  Instant last = Instant::min();
  bool complete = true;
  std::string reason;  // why it is not
  ThreadUsage usage;
};

class VerbsLoadClient {
 public:
  // The other side's memory: so many bytes from there on, more than one operation takes. Not of SENDs.
  struct Target {
    RemoteMemory memory;
    std::uint64_t bytes = 0;
  };

  // As which client, and which member of a group, which must outlive it. `operations`: its quota, without the
  // warm-up's; 0: until the schedule's end.
  struct Place {
    std::uint32_t client = 0;
    std::uint32_t member = 0;
    std::uint64_t operations = 0;
  };
  // `progress` counts finished operations for other threads to read.
  VerbsLoadClient(const Port& port, const Scenario& scenario, const StopFlag& stop, QueueGroup& group,
                  const Place& place, std::atomic<std::uint64_t>& progress);

  void run(const LoadSchedule& schedule, const Target& target);
  // After run().
  [[nodiscard]] const VerbsLoadMeasurement& measurement() const { return measurement_; }

 private:
  // A queue pair's batches.
  struct Lane {
    std::uint32_t in_batch = 0;    // posted since the last signalled one, that included
    std::uint32_t uncounted = 0;   // posted, and their end not learned of
    bool batch_under_way = false;  // the signalled one's completion is to come
  };
  struct Slot {
    bool taken = false;
    bool signalled = false;
    std::uint32_t lane = 0;
    std::uint32_t counts_for = 0;  // operations that have ended when this one has
    Instant posted;
  };
  // An end whose stamps become valid with the next wait.
  struct Ended {
    Instant posted;
    Instant at;
    std::uint32_t operations;
  };

  [[nodiscard]] bool issuing() const;
  void issue();
  void post_batch();
  [[nodiscard]] bool slots_are_free(std::uint64_t operations) const;
  [[nodiscard]] SendRequest request_of(std::uint32_t slot);
  // False: stopped or broken.
  template <typename Condition>
  [[nodiscard]] bool wait_until(const Condition& condition);
  [[nodiscard]] WaitResult look();
  void take(const Completion& completion);
  void ended(std::uint32_t slot, CompletionStatus status);
  void record_ended();
  void end_with(std::string reason);

  Runtime& runtime_;
  const Scenario& scenario_;
  const StopFlag& stop_;
  const std::uint64_t quota_;
  std::atomic<std::uint64_t>& progress_;
  Rng rng_;
  std::unique_ptr<MemoryRegion> region_;  // a line or more for each slot
  const std::uint32_t stride_;
  const std::uint32_t places_;  // of a slot, for bytes to begin at
  QueueGroup& group_;
  const std::uint32_t member_;
  std::vector<Lane> lanes_;  // by the group's queue pairs
  std::unique_ptr<WaitSet> set_;
  Waiter waiter_;
  std::vector<Completion> taken_;
  std::vector<Slot> slots_;
  std::vector<SendRequest> batch_;  // not posted yet, of queue pair batch_lane_; room for all
  std::uint32_t batch_lane_ = 0;
  std::uint32_t outstanding_ = 0;  // slots that are taken
  std::vector<Ended> ended_;       // room for all slots
  Target target_;
  LoadSchedule schedule_;
  Instant time_;  // of the last end
  std::uint64_t issued_ = 0;
  std::uint64_t done_ = 0;
  VerbsLoadMeasurement measurement_;
};

}  // namespace rkv
