// A profile: the machines, network cards and network that a simulation runs on, in physical terms. One JSON
// file holds one (calibration/profiles/*.json); load.hpp reads and validates it. The defaults are written
// here, in the schema (calibration/profiles/profile.schema.json) and in docs/profile.md, which names their
// sources. Plain data: copy it freely, share it read-only. Durations are picoseconds (in JSON: nanoseconds,
// fractions allowed).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/sim/engine/time.hpp"

namespace rkv::sim {

struct CpuProfile {
  std::uint32_t sockets = 1;
  std::uint32_t cores_per_socket = 16;
  // Hardware threads a core. CPU numbers as Linux gives them: first thread of every core, socket by socket,
  // then the second of every core.
  std::uint32_t smt_ways = 1;
  double smt_throughput = 0.6;  // what each of two busy siblings does, as a part of a thread that runs alone
  double clock_ghz = 2.4;       // that CPU costs are given for
  // With 1, 2, ... cores of a socket active; more than there are numbers: the last. Empty: clock_ghz always.
  std::vector<double> turbo_ghz = {};
  // The clock that this profile's CPU costs were measured at; they are scaled by it over clock_ghz. Memory
  // costs are not. 0: the same.
  double costs_measured_at_ghz = 0;

  [[nodiscard]] std::uint32_t cpus() const { return sockets * cores_per_socket * smt_ways; }

  bool operator==(const CpuProfile&) const = default;
};

struct SchedulerProfile {
  enum class Kind : std::uint8_t { cfs, eevdf };
  Kind kind = Kind::cfs;
  Ps tick = 4'000'000'000;                   // 1 / CONFIG_HZ; slices end at ticks
  Ps tick_jitter = 0;                        // one that ends a slice takes up to so much, at random
  Ps slice = 3'000'000'000;                  // cfs: sched_min_granularity; eevdf: base_slice
  Ps latency = 24'000'000'000;               // cfs: sched_latency, shared out among a CPU's threads
  Ps wakeup_granularity = 4'000'000'000;     // cfs: lead of a woken thread before it preempts
  Ps switch_cost = 1'500'000;                // from one thread to another, on the CPU
  std::uint32_t switch_footprint_bytes = 0;  // what a thread touches between two switches
  Ps run_queue_level = 0;                    // more for a switch, each doubling of the threads ready
  Ps wakeup_latency = 1'000'000;             // from the wake-up of a thread to the switch on an idle CPU
  Ps halt_after = 0;  // an idle CPU halts then: who wakes a thread for it before that interrupts nothing
  Ps wakeup_before_halt = 0;    // from when it became idle until the switch to a thread woken before that
  Ps wake_cost = 500'000;       // CPU time of the one who wakes (in the interrupt, or a system call)
  Ps wake_elsewhere = 0;        // more, when the woken thread waits for another CPU that is busy
  Ps wake_beside = 0;           // more, when it stays while another CPU is busy, where it could run as well
  Ps wake_idle = 0;             // more, when it gets another CPU that is idle: interrupting that
  Ps reschedule = 0;            // more, when it takes another busy CPU from who runs there: interrupting that
  Ps reschedule_interrupt = 0;  // what that interrupt takes of that CPU
  Ps wake_other_socket = 0;     // more, when it gets a CPU of another socket
  Ps syscall = 100'000;         // entering and leaving the kernel
  Ps fall_asleep = 0;           // more, for a wait in which the thread sleeps: the queues that it waits in
  // Beside that, with a deadline: the clock, and the kernel's timer, which is set and taken back; and more
  // while another sleeping thread's is set on that CPU.
  Ps timed_sleep = 0;
  Ps timed_sleep_among = 0;
  Ps interrupt = 1'500'000;  // CPU time of one, taken from the thread it interrupts
  // CPU that interrupts of completion vector 0 and TCP's soft interrupts run on; -1: that of the thread that
  // waits, as irqbalance or an affinity set by hand would have it.
  std::int32_t interrupt_cpu = 0;
  // A thread woken by an interrupt on an otherwise idle CPU comes to that CPU.
  bool wake_to_interrupt = false;
  // A woken thread whose own CPU is busy may be taken to the CPU of the thread that wakes it, by their loads.
  bool wake_affine = false;
  // A thread that another one makes or wakes is kept on that one's CPU, though others are idle, where there
  // is room (cpu/processors.hpp).
  bool packs_cpus = false;
  // A woken thread goes to an idle CPU beside one that runs something only if that is its own's sibling.
  bool idle_cores_only = false;
  // Of a thread that others of its host make (port/sim_runtime.cpp).
  Ps make_thread = 0;             // its maker's time
  Ps begin_thread = 0;            // its own, until its maker may go on
  Ps migration_cost = 2'000'000;  // cold caches of a thread that continues on another CPU
  // A CPU that becomes idle looks at once for threads that wait elsewhere if its idle times were longer than
  // this on average; otherwise they come to it only when the slice of the one they wait for ends.
  Ps idle_pull_after = 0;
  Ps balance_interval =
      64'000'000'000;  // between looks for a CPU with two threads more than another; 0: never
  // Of these looks, the part that exchanges two waiting threads of random CPUs though none has two more:
  // Linux balances by running averages of load, which background activity tips now and then.
  double stray_exchanges = 0.1;
  // How often a second, on each CPU, a thread of another program runs for a moment.
  double background_hz = 0;
  double background_long_hz = 0;       // of these: for a tenth of a millisecond or more
  Ps background_long = 1'000'000'000;  // how long these run
  double background_heavy_part = 0;    // of these: of threads with more weight
  double background_heavy_weight = 1;  // so many threads of nice 0 weigh as much
  double background_moving = 1;        // of the times that they run for long: come to any CPU
  // The program's threads stand in CPUs' queues as a group, and Linux's scheduler is of 6.13 or later
  // (cpu/stranger.hpp).
  bool grouped = false;
  // A running thread leaves a CPU that has much to do with interrupts after so long; 0: only one that gets
  // nothing.
  Ps active_balance = 0;
  Ps numa_balancing = 0;  // between scans of a process's memory (cpu/numa_balancing.hpp); 0: none

  bool operator==(const SchedulerProfile&) const = default;
};

struct MemoryProfile {
  // What walking one store entry costs (its cache lines, compared and left), by the size of the store.
  // Ascending; between points interpolated against the logarithm of the size, beyond them constant.
  struct CostAtSize {
    std::uint64_t working_set_bytes = 0;
    Ps cost = 0;
    bool operator==(const CostAtSize&) const = default;
  };
  std::vector<CostAtSize> walk{{32'768, 2'000}, {262'144, 5'000}, {20'971'520, 12'000}, {83'886'080, 25'000}};
  // What one line costs that lies anywhere, by the size of all that is touched before it is again. As above.
  std::vector<CostAtSize> lines{
      {32'768, 1'600}, {262'144, 4'800}, {20'971'520, 21'000}, {83'886'080, 96'000}};
  double lines_at_once = 1;  // on average, that a thread waits for which finds its own gone
  // Part of a walk's time that goes with the clock (turbo_ghz), the rest being memory's.
  double walk_clock_share = 0;
  std::uint32_t bytes_an_entry = 128;      // memory traffic of it when the store is larger than the cache
  std::uint64_t cache_bytes = 20'971'520;  // a socket's last-level cache: a smaller store costs no traffic
  double bandwidth_bytes_per_ns = 40;      // of one socket's memory, shared by its CPUs
  std::uint32_t banks = 64;                // of one socket's memory
  Ps bank_cycle = 47'000;                  // how long reading a line keeps one busy
  Ps kept = 0;                             // lines stay in caches that others use, on average; 0: for ever
  Ps lost_entry = 0;                       // what walking an entry costs whose lines have left them
  double remote_socket_factor = 1.5;       // of a walk through memory of another socket
  double copy_ns_per_byte = 0.05;
  Ps format_key = 150'000;      // printf of a key
  Ps store_operation = 50'000;  // hashing and what else an operation costs beside its walk
  Ps lock = 20'000;             // taking or releasing one that is free and in this CPU's cache
  Ps lock_hand_over = 100'000;  // more, when another CPU had it last
  Ps slot_look = 1'500;         // looking at a slot of memory for a peer's WRITE, finding none
  Ps slot_hit = 80'000;         // more, finding one: the lines that the card has written
  Ps spin_waiter = 0;           // more, of a lock that threads spin for, for each that goes on spinning

  bool operator==(const MemoryProfile&) const = default;
};

// What the program itself costs around an operation.
struct ProgramProfile {
  Ps client_operation = 100'000;  // client, outside the timed window: drawing, writing the request
  Ps client_response = 50'000;    // client, inside: reading the response
  Ps client_serial = 0;           // client, outside: held in the process-wide lock each time it is taken
  Ps server_operation = 100'000;  // worker: parsing and answering, without the store
  Ps clock_read = 25'000;         // one time stamp

  bool operator==(const ProgramProfile&) const = default;
};

// CPU time of the verbs calls, by transport.
struct VerbsProfile {
  Ps post_send = 150'000;
  Ps post_chained = 60'000;  // a send behind the first one of a post
  Ps post_receive = 60'000;
  Ps receive_chained = 20'000;  // a receive behind the first one of a post
  Ps poll = 60'000;             // one that takes a completion
  Ps empty_poll = 15'000;       // one that finds none
  Ps arm = 50'000;
  Ps event = 500'000;  // taking an event from its channel and acknowledging it, without the switch
  // More, for a queue pair or completion queue that another thread used last: its lock's cache line, and
  // those of what it guards. 0: such locks are not modelled.
  Ps lock_hand_over = 0;

  bool operator==(const VerbsProfile&) const = default;
};

struct HostProfile {
  CpuProfile cpu;
  SchedulerProfile scheduler;
  MemoryProfile memory;
  ProgramProfile program;
  VerbsProfile rc, uc, ud;

  bool operator==(const HostProfile&) const = default;
};

struct CacheProfile {
  enum class Policy : std::uint8_t { lru, fifo, random };
  // Entries it holds; 0: it never misses. Where `bytes` is set instead, entries = bytes / bytes_an_entry.
  std::uint32_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint32_t bytes_an_entry = 0;
  Policy policy = Policy::random;
  Ps miss = 500'000;                  // fetching one from host memory
  std::uint32_t parallel_misses = 4;  // under way at a time; more queue up

  bool operator==(const CacheProfile&) const = default;
};

// Work of the card on one work request or message, by transport.
struct NicTransportProfile {
  Ps send = 50'000;
  Ps receive = 50'000;
  Ps ack = 0;                       // RC: making one at the responder, or a READ's response
  Ps take_ack = 0;                  // taking it at the requester
  std::uint32_t header_bytes = 30;  // a packet's, on the wire
  std::uint32_t ack_bytes = 0;

  bool operator==(const NicTransportProfile&) const = default;
};

struct NicProfile {
  enum class Kind : std::uint8_t {
    rnic,
    soft,  // soft0: the posting thread copies, completes and wakes, all on one host
  };
  Kind kind = Kind::rnic;
  std::uint32_t processing_units = 2;
  bool units_by_queue_pair = false;  // a queue pair's requests stay with one of them
  bool stalls_for_contexts = false;  // a unit waits for a missing one; else it is asked when it is there
  bool read_contexts = false;        // of READs at their responder, beside the queue pair's in qp_cache
  bool pass_each_packet = false;     // of the payload on PCIe
  NicTransportProfile rc{60'000, 60'000, 30'000, 30'000, 30, 34};
  NicTransportProfile uc;
  NicTransportProfile ud{60'000, 60'000, 0, 0, 78, 0};

  Ps pcie_latency = 250'000;  // one way
  double pcie_bandwidth_bytes_per_ns = 7;
  std::uint32_t pcie_payload_bytes = 256;  // of a packet, at most
  bool pcie_cut_by_address = false;        // packets end where addresses are multiples of it
  Ps pcie_packet = 0;                      // for each packet, beside its bytes
  Ps pcie_write_backlog = 0;               // waiting writes beyond which responses stay outside; 0: none
  bool doorbell_carries_request = true;    // BlueFlame, of inlined ones: else they are fetched by DMA
  std::uint32_t inline_bytes = 188;        // most
  Ps doorbell = 50'000;                    // CPU time of the write, with its doorbell register's lock held
  // Registers that all queue pairs share but for the first `private_doorbells`; 0: each has its own.
  std::uint32_t shared_doorbells = 0;
  std::uint32_t private_doorbells = 0;
  Ps doorbell_lock_hand_over = 100'000;  // more, when another thread rang it last
  bool receive_record = false;  // receives are announced in memory: read when none that was seen is left
  Ps receive_fetch = 0;         // reading a receive descriptor, when a message comes
  Ps receive_fetch_an_sge = 0;  // more, for each scatter/gather entry it has room for
  std::uint32_t max_sge = 30;
  std::uint32_t queue_depth = 16'384;
  std::uint32_t completion_queue_depth = 4'194'303;
  Ps interrupt_delay = 0;               // moderation: from a completion to its interrupt
  Ps rnr_delay = 10'000'000;            // RC: until a message that found no receive is sent again
  Ps retransmit_delay = 4'000'000'000;  // RC: until a lost packet is sent again

  std::uint32_t reads_outstanding = 0;  // of a queue pair, READs and atomic operations; 0: no limit

  CacheProfile qp_cache;            // contexts of queue pairs
  std::uint32_t context_bytes = 0;  // that the fetch of one takes of PCIe
  CacheProfile request_cache;       // requests of READs that are not yet answered
  CacheProfile translation_cache;   // memory translation, a page an entry
  std::uint64_t page_bytes = 2'097'152;

  // soft: CPU time of the posting thread
  Ps soft_transfer = 50'000;  // matching, and both completions
  double soft_copy_ns_per_byte = 0.05;
  Ps soft_wake = 1'500'000;  // more, when the receiver's queue is armed and a thread sleeps for it
  Ps soft_event = 500'000;   // the same when none does: writing the event
  Ps soft_elsewhere = 0;     // more, when the receiver is on another CPU; of the receiver too, taking it
  double soft_read_ns_per_byte = 0;  // then, for what the receiver reads of a message beside its header
  Ps soft_visible = 0;               // until a receiver on another CPU sees the completion

  bool operator==(const NicProfile&) const = default;
};

struct NetworkProfile {
  // Both sides on one host: its memory, CPUs and card are shared, and there is no link. With nic.kind soft,
  // and only then.
  bool one_host = false;
  std::uint32_t client_hosts = 1;  // among which clients are dealt out in turn
  [[nodiscard]] std::uint32_t hosts() const { return one_host ? 1 : 1 + client_hosts; }
  Ps link_latency = 100'000;  // of one cable
  double link_bandwidth_gbit_s = 54.54;
  Ps switch_latency = 200'000;  // 0 with one client host and no switch
  std::uint32_t mtu_bytes = 4096;
  // UC and UD lose, RC sends again. Of packets, at random.
  double loss = 0;
  double duplicate = 0;
  double reorder = 0;  // held back by up to reorder_delay
  Ps reorder_delay = 20'000'000;
  // Messages of this size and more go through SimGrid's own flow-level network model. 0: none.
  std::uint64_t flow_bytes = 0;

  bool operator==(const NetworkProfile&) const = default;
};

// Kernel TCP: CPU time in the kernel, beside the system call itself.
struct TcpProfile {
  Ps send = 3'000'000;            // a call that sends
  Ps receive = 1'500'000;         // a call that receives
  Ps empty_receive = 300'000;     // a call that finds nothing
  Ps select = 800'000;            // a select(2) before a receive, for one connection
  Ps epoll = 800'000;             // an epoll_wait(2), for several
  double ns_per_byte = 0.2;       // copying and checksums, on each side
  Ps soft_interrupt = 3'000'000;  // receive processing of a segment; on one host the sender's
  Ps after_switch = 0;            // more of a thread that uses it, when it comes on behind another thread
  Ps after_idle = 0;              // the same on a CPU that was idle
  Ps latency = 2'000'000;         // through both cards and drivers, beside the link
  Ps early = 0;                   // one host: before the sender's call ends, another CPU sees the bytes
  Ps elsewhere = 0;               // one host: more of that processing for a receiver on another CPU
  std::uint32_t header_bytes = 66;
  // What a thread that uses it touches between two switches; 0: what the host's others do.
  std::uint32_t switch_footprint_bytes = 0;

  bool operator==(const TcpProfile&) const = default;
};

struct Profile {
  std::string name;         // from the file's name unless it has one
  std::string description;  // what machines, and where the numbers come from
  HostProfile server;
  HostProfile client;  // with one_host: not used
  NicProfile nic;      // of every host
  NetworkProfile network;
  TcpProfile tcp;

  bool operator==(const Profile&) const = default;
};

}  // namespace rkv::sim
