#include "calibration/measure/conclude.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "backends/sim/cpu/cost_by_size.hpp"
#include "backends/sim/engine/time.hpp"
#include "backends/sim/profile/load.hpp"
#include "backends/sim/profile/schema.hpp"
#include "calibration/measure/names.hpp"
#include "calibration/measure/neighbours.hpp"
#include "calibration/measure/reasons.hpp"
#include "calibration/measure/slices.hpp"

namespace rkv::calibration {
namespace {

using nlohmann::json;
using Fields = std::vector<std::string>;

// An estimate, or why there is none. What is made of several has the first one's reason.
struct Derived {
  std::optional<Estimate> estimate;
  std::string why;
};

template <typename Operation>
Derived combined(const Derived& a, const Derived& b, const Operation& operation) {
  if (!a.estimate) return a;
  if (!b.estimate) return b;
  return {operation(*a.estimate, *b.estimate), ""};
}
Derived operator+(const Derived& a, const Derived& b) {
  return combined(a, b, [](const Estimate& x, const Estimate& y) { return x + y; });
}
Derived operator-(const Derived& a, const Derived& b) {
  return combined(a, b, [](const Estimate& x, const Estimate& y) { return x - y; });
}
Derived operator*(const Derived& a, double factor) {
  return a.estimate ? Derived{*a.estimate * factor, ""} : a;
}

json::json_pointer pointer_to(std::string_view dotted) {
  std::string text = "/" + std::string(dotted);
  std::replace(text.begin(), text.end(), '.', '/');
  return json::json_pointer(text);
}

// The document's values by their fields; a list is one.
void leaves(const json& value, const std::string& at, Fields& out) {
  if (!value.is_object()) {
    out.push_back(at);
    return;
  }
  for (const auto& [name, inner] : value.items()) leaves(inner, at.empty() ? name : at + "." + name, out);
}

class Conclusion {
 public:
  Conclusion(const Samples& samples, const MachineFacts& machine, bool soft, const sim::Profile& base)
      : samples_(samples), machine_(machine), soft_(soft), base_(base), document_(sim::to_json(base)) {
    document_.erase("name");
    document_.erase("description");
  }

  Findings result() {
    cpu();
    memory();
    locks();
    coming_back();
    kernel();
    time_slices();
    verbs();
    tcp();
    leave_the_rest();
    if (document_["server"] == document_["client"]) {
      document_["hosts"] = std::move(document_["server"]);
      document_.erase("server");
      document_.erase("client");
    }
    findings_.profile = std::move(document_);
    return std::move(findings_);
  }

 private:
  [[nodiscard]] Derived measured(const std::string& name) const { return found(name, samples_.find(name)); }
  [[nodiscard]] Derived typical(const std::string& name) const {
    return found(name, samples_.find_typical(name));
  }
  [[nodiscard]] Derived found(const std::string& name, const std::optional<Estimate>& estimate) const {
    return {estimate, estimate ? "" : samples_.why_not(name)};
  }
  // What was taken between two readings of the clock.
  [[nodiscard]] Derived timed(const std::string& name) const {
    return measured(name) - measured(sampled::clock_read);
  }

  // A figure that others have been taken for.
  [[nodiscard]] Derived certain(double value) const {
    return {Estimate{value, 0, samples_.values(sampled::clock_read).size()}, ""};
  }

  // CPU time that waking a thread of the own CPU takes.
  [[nodiscard]] Derived waking() const {
    return timed(sampled::wake_write_here) - measured(sampled::event_write);
  }
  [[nodiscard]] Derived wake_up_by_eventfd() const {
    return measured(sampled::wake_event) - measured(sampled::wake_write);
  }
  // What half a round trip by events over UC takes beside waking up. In the model the message is there when
  // the transfer is over, and the thread wakes up soft_wake_ns later, while its poster interrupts the idle
  // CPU.
  [[nodiscard]] Derived around_wake_up() const {
    const Derived posting = timed(sampled::of("uc", sampled::post_send_small)) + soft_wake();
    const Derived taking = timed(sampled::of("uc", sampled::take_event)) - measured(sampled::system_call) +
                           timed(sampled::of("uc", sampled::poll_receive));
    return timed(sampled::of("uc", sampled::post_receive)) + posting + taking;
  }
  // CPU time that each doubling of the threads adds to a switch.
  [[nodiscard]] Derived doubling() const {
    return (measured(sampled::wake_crowded) - measured(sampled::wake_together)) *
           (1.0 / sampled::crowded_doublings);
  }
  // Switching among the threads of a few pairs.
  [[nodiscard]] Derived switching() const {
    return measured(sampled::thread_switch) + doubling() * sampled::few_doublings;
  }
  [[nodiscard]] Derived falling_asleep() const {
    return measured(sampled::wake_together) - timed(sampled::wake_write_here) -
           measured(sampled::event_read) - switching();
  }
  // Among those, as the profile will have it: falling asleep may be lost in the noise.
  [[nodiscard]] Derived sleeping() const {
    const Derived asleep = falling_asleep();
    const bool lost = asleep.estimate && asleep.estimate->value <= 0;
    const double given_ns = static_cast<double>(base_.server.scheduler.fall_asleep) / sim::ps_in_ns;
    return (lost ? certain(given_ns) : asleep) + switching();
  }
  // What waking the receiver adds to a post of soft0, among threads that keep the CPU busy: a wake-up among a
  // few pairs as a whole, less what else it takes of both threads.
  [[nodiscard]] Derived soft_wake() const {
    const auto uc = [](const char* what) { return sampled::of("uc", what); };
    const Derived posting = timed(sampled::post_send_here) + timed(uc(sampled::poll_send));
    const Derived taking =
        timed(uc(sampled::take_event)) + timed(sampled::poll_receive_here) + timed(uc(sampled::post_receive));
    return measured(sampled::event_together) - sleeping() - measured(uc(sampled::empty_poll)) * 2 - posting -
           taking - certain(coming_back_ns(host_footprint_bytes()));
  }
  // From waking a thread of an idle CPU until it runs: by its completion channel, which is soft0's if
  // `soft_`, else by an eventfd.
  [[nodiscard]] Derived wake_up() const {
    if (!soft_) return wake_up_by_eventfd();
    return typical(sampled::event_round_trip) * 0.5 - around_wake_up();
  }

  void put(const std::string& field, const json& value) {
    constexpr std::string_view hosts = "hosts.";
    known_.insert(field);
    if (!field.starts_with(hosts)) {
      document_[pointer_to(field)] = value;
      return;
    }
    const std::string rest = field.substr(hosts.size());
    for (const char* host : {"server.", "client."}) document_[pointer_to(host + rest)] = value;
  }

  void leave(const std::string& what, Fields fields, std::string why) {
    for (const std::string& field : fields) known_.insert(field);
    findings_.left.push_back({what, std::move(fields), std::move(why)});
  }

  // The most that a profile takes there.
  [[nodiscard]] static double most(const std::string& field) {
    constexpr double any = std::numeric_limits<double>::infinity();
    const json* const part = sim::profile_schema().at(pointer_to(field));
    return part == nullptr ? any : part->value("maximum", any);
  }

  // As its type there has it.
  [[nodiscard]] static json number_for(const std::string& field, double value) {
    const json* const part = sim::profile_schema().at(pointer_to(field));
    if (part != nullptr && part->value("type", "") == "integer") return std::llround(value);
    return value;
  }

  // A figure and the fields that it is for; for none it is a check.
  void take(const std::string& name, const std::string& unit, const Derived& derived, const Fields& fields,
            const std::string& how) {
    const std::string what = fields.empty() ? name : fields.front();
    if (!derived.estimate) {
      leave(what, fields, derived.why);
    } else if (derived.estimate->value <= 0) {
      leave(what, fields,
            fmt::format("lost in the noise: {:.3g} {} came out", derived.estimate->value, unit));
    } else if (std::ranges::any_of(
                   fields, [&](const auto& field) { return derived.estimate->value > most(field); })) {
      leave(
          what, fields,
          fmt::format("{:.3g} {} came out, more than a profile takes: other programs had the machine as well",
                      derived.estimate->value, unit));
    } else {
      for (const std::string& field : fields) put(field, number_for(field, derived.estimate->value));
      findings_.figures.push_back({name, unit, *derived.estimate, how, fields});
    }
  }
  void observe(const std::string& field, const json& value, const std::string& source) {
    put(field, value);
    findings_.observations.push_back({field, value, source});
  }

  void cpu();
  void memory();
  // A table of the profile's against sizes.
  struct SizeTable {
    std::string prefix;  // of samples
    std::string field;
    std::string cost;  // its name in the table
    std::string what;  // for the figures
    std::string how;
    const std::vector<sim::MemoryProfile::CostAtSize>& base;
    std::optional<Neighbours> neighbours = std::nullopt;  // take from the larger ones while they are measured
  };
  void by_size(const SizeTable& table);
  std::optional<Neighbours> neighbours();
  void locks();
  void coming_back();
  void tcp_footprint();
  [[nodiscard]] Derived found_gone(const char* crowded, const char* together) const {
    return measured(crowded) - measured(together) - doubling() * sampled::crowded_doublings;
  }
  [[nodiscard]] sim::CostBySize lines() const;
  // What a thread's lines cost, one after the other, which it finds gone behind so many others.
  [[nodiscard]] static double lines_gone_ns(const sim::CostBySize& lines, std::uint64_t footprint_bytes,
                                            std::uint64_t others) {
    return static_cast<double>(sim::refill_cost(lines, footprint_bytes, others)) / sim::ps_in_ns;
  }
  // Behind the threads of many pairs, more than behind those of a few.
  [[nodiscard]] static double crowded_lines_ns(const sim::CostBySize& lines, std::uint64_t footprint_bytes) {
    return lines_gone_ns(lines, footprint_bytes, 2 * sampled::many_pairs - 1) -
           lines_gone_ns(lines, footprint_bytes, 2 * sampled::few_pairs - 1);
  }
  // Behind the threads of a few pairs, as the profile has it.
  [[nodiscard]] double coming_back_ns(std::uint64_t footprint_bytes) const {
    return lines_gone_ns(lines(), footprint_bytes, 2 * sampled::few_pairs - 1) / lines_at_once();
  }
  [[nodiscard]] double lines_at_once() const {
    return document_.at(pointer_to("server.memory.lines_at_once")).get<double>();
  }
  [[nodiscard]] std::uint64_t host_footprint_bytes() const {
    return document_.at(pointer_to("server.scheduler.switch_footprint_bytes")).get<std::uint64_t>();
  }
  [[nodiscard]] std::uint64_t tcp_footprint_bytes() const {
    const auto own = document_.at(pointer_to("tcp.switch_footprint_bytes")).get<std::uint64_t>();
    return own > 0 ? own : host_footprint_bytes();
  }
  void kernel();
  void time_slices();
  void verbs();
  [[nodiscard]] Derived saved_each(const std::string& apart, const std::string& together) const;
  void posts(const std::string& transport, const Derived& alone, const std::string& how,
             const Derived& doorbell);
  void soft_transfers();
  void tcp();
  void leave_the_rest();

  const Samples& samples_;
  const MachineFacts& machine_;
  const bool soft_;
  const sim::Profile& base_;
  json document_;
  std::set<std::string> known_;  // fields that were put or left
  Findings findings_;
};

constexpr std::array transports{"rc", "uc", "ud"};

void Conclusion::cpu() {
  take("clock", "GHz", measured(sampled::clock_ghz),
       {"hosts.cpu.clock_ghz", "hosts.cpu.costs_measured_at_ghz"}, "a loop of dependent additions");
  take("time stamp", "ns", measured(sampled::clock_read), {"hosts.program.clock_read_ns"}, "clock_gettime");
  if (machine_.all_cpus_usable) {
    const std::string source = "/sys/devices/system/cpu";
    observe("hosts.cpu.sockets", machine_.sockets, source);
    observe("hosts.cpu.cores_per_socket", machine_.cores_per_socket, source);
    observe("hosts.cpu.smt_ways", machine_.smt_ways, source);
  }
  Derived shared = measured(sampled::smt_beside);
  if (const auto alone = samples_.find(sampled::smt_alone); shared.estimate && alone) {
    const double throughput = alone->value / shared.estimate->value;
    const double spread =
        std::max(alone->spread / alone->value, shared.estimate->spread / shared.estimate->value);
    shared.estimate = Estimate{std::min(throughput, 1.0), throughput * spread,
                               std::min(alone->samples, shared.estimate->samples)};
  }
  take("work beside a busy hardware thread", "of that alone", shared, {"hosts.cpu.smt_throughput"},
       "writing keys while the other thread of the core does");
}

void Conclusion::memory() {
  const sim::MemoryProfile& base = base_.server.memory;
  by_size({sampled::walk_prefix, "hosts.memory.walk", "entry_ns", "walk, an entry of",
           "GETs of missing keys in the chained store", base.walk, neighbours()});
  by_size({sampled::line_prefix, "hosts.memory.lines", "line_ns", "a cache line of",
           "lines in a circle, in an order of chance", base.lines});
  take("store operation", "ns", measured(sampled::store_operation), {"hosts.memory.store_operation_ns"},
       "GET in an empty chained store");
  take("writing a key", "ns", measured(sampled::format_key), {"hosts.memory.format_key_ns"},
       "what the client does for the thesis's printf");
  take("copying", "ns/B", measured(sampled::copy_per_byte), {"hosts.memory.copy_ns_per_byte"},
       "memcpy of 4096 less that of 256 bytes, in L1");
  take("memory bandwidth", "B/ns", measured(sampled::bandwidth_bytes_per_ns),
       {"hosts.memory.bandwidth_bytes_per_ns"}, "all CPUs read at once, past the caches");
  const std::string cache = "hosts.memory.cache_bytes";
  if (machine_.last_level_cache_bytes == 0) {
    leave(cache, {cache}, "Linux does not tell");
  } else if (machine_.virtual_machine) {
    leave(cache, {cache},
          fmt::format("a virtual machine: the {} MiB that it shows are shared with others on its host",
                      machine_.last_level_cache_bytes >> 20));
  } else {
    observe(cache, machine_.last_level_cache_bytes, "/sys/devices/system/cpu/cpu*/cache");
  }
}

// What neighbours do to the caches here, if anything.
std::optional<Neighbours> Conclusion::neighbours() {
  const std::string kept_field = "hosts.memory.kept_ns";
  const std::string lost_field = "hosts.memory.lost_entry_ns";
  const Derived kept = typical(sampled::kept);  // fitted anew in each repetition; 0: none are lost
  const Derived lost = typical(sampled::lost_entry);
  if (kept.estimate && kept.estimate->value == 0) {
    observe(kept_field, 0, "a store's walk after pauses, which make no difference");
    leave(lost_field, {lost_field}, "no entry is lost");
    return std::nullopt;
  }
  take("lines are kept", "ns", kept, {kept_field},
       "by neighbours on the host: the walk of a store of 2 MiB after pauses of 1 to 50 ms; median");
  if (!kept.estimate || !lost.estimate) {
    leave(lost_field, {lost_field}, "only beside " + kept_field);
    return std::nullopt;
  }
  take("walk, an entry that is lost", "ns", lost, {lost_field}, "the same; median");
  return Neighbours{kept.estimate->value, lost.estimate->value};
}

// Points of the base beyond what was measured stay: a table that ended earlier would make large sizes cheap.
void Conclusion::by_size(const SizeTable& table) {
  constexpr std::uint64_t clearly_larger = 2;
  json points = json::array();
  std::uint64_t largest = 0;
  for (const std::string& name : samples_.names(table.prefix)) {
    const std::string digits = name.substr(table.prefix.size());
    std::from_chars(digits.data(), digits.data() + digits.size(), largest);
    Estimate cost = *samples_.find(name);
    std::string how = table.how;
    if (const auto again = samples_.find(sampled::walk_again(largest)); table.neighbours && again) {
      cost = *again;
      cost.value = cost_in_caches(again->value, sampled::again_after_ns, *table.neighbours);
      how += ", again after 1 ms, less what neighbours have taken";
    }
    if (cost.value <= 0) continue;
    points.push_back({{"working_set_bytes", largest}, {table.cost, cost.value}});
    findings_.figures.push_back(
        {fmt::format("{} {} KiB", table.what, largest >> 10), "ns", cost, how, {table.field}});
  }
  if (points.empty()) {
    leave(table.field, {table.field}, samples_.why_not(table.prefix));
    return;
  }
  const std::size_t measured_points = points.size();
  for (const auto& [bytes, cost] : table.base) {
    if (bytes < clearly_larger * largest) continue;
    points.push_back({{"working_set_bytes", bytes}, {table.cost, static_cast<double>(cost) / sim::ps_in_ns}});
  }
  put(table.field, points);
  if (points.size() > measured_points) {
    findings_.left.push_back(
        {fmt::format("{} beyond {} KiB", table.field, largest >> 10), {}, "larger than was measured"});
  }
}

void Conclusion::locks() {
  const Derived lock = measured(sampled::lock);
  take("lock or unlock", "ns", lock, {"hosts.memory.lock_ns"}, "std::mutex, free and in this CPU's cache");
  take("lock from another CPU", "ns",
       (measured(sampled::locks_and_turns) - measured(sampled::turns)) * 0.5 - lock * 2,
       {"hosts.memory.lock_hand_over_ns"}, "two CPUs in turn, with the lock less without");
}

// By what many pairs take more than a few: a doubling of the threads costs the run queue as much as with
// eventfds, whose threads touch little; the rest is what they find gone. As in a run, 32 pairs find 0.37 of
// that gone which 64 do, as against eight (`rkv_bench_pairs --turns 25`); by the lines of that machine
// (hosts.memory.lines) it is 0.34 for footprints of two thirds of its first-level cache, 0.21 for a third.
void Conclusion::coming_back() {
  if (!soft_) return;
  if (machine_.first_level_cache_bytes > 0)
    observe("hosts.scheduler.switch_footprint_bytes", machine_.first_level_cache_bytes / 3 * 2,
            "estimate: two thirds of the first-level cache that /sys/devices/system/cpu/cpu*/cache tells");
  const Derived more = found_gone(sampled::run_crowded, sampled::run_together);
  take("coming back behind 127 threads, not 15", "ns", more, {},
       "64 pairs of threads on one CPU that wake each other as in a run, by requests and events of sends as "
       "well, less eight pairs, less the same by eventfds");
  const std::string field = "hosts.memory.lines_at_once";
  const double alone_ns = crowded_lines_ns(lines(), host_footprint_bytes());
  if (!more.estimate) return leave(field, {field}, more.why);
  if (alone_ns <= 0) return leave(field, {field}, "what a thread touches costs no more behind others");
  if (more.estimate->value <= 0) return leave(field, {field}, "lost in the noise");
  const double ratio = alone_ns / more.estimate->value;
  take("lines that come at once", "lines",
       {Estimate{std::max(ratio, 1.0), ratio * more.estimate->spread / more.estimate->value,
                 more.estimate->samples},
        ""},
       {field}, "what these cost one after the other (hosts.memory.lines), over that");
}

// The footprint that costs over TCP what many pairs find gone.
void Conclusion::tcp_footprint() {
  const std::string field = "tcp.switch_footprint_bytes";
  const Derived more = found_gone(sampled::tcp_crowded, sampled::tcp_together);
  if (!more.estimate) return leave(field, {field}, more.why);
  // One line more than a profile takes, if none is enough.
  const auto bytes_of = [lines = lines(), at_once = lines_at_once(), all = most(field)](double gone_ns) {
    double bytes = 0;
    while (bytes <= all && crowded_lines_ns(lines, static_cast<std::uint64_t>(bytes)) < gone_ns * at_once)
      bytes += sim::cache_line_bytes;
    return bytes;
  };
  const auto [gone_ns, spread_ns, samples] = *more.estimate;
  const double spread = bytes_of(gone_ns + spread_ns / 2) - bytes_of(gone_ns - spread_ns / 2);
  take(
      "TCP: what a thread touches", "bytes", {Estimate{bytes_of(gone_ns), spread, samples}, ""}, {field},
      "so that finding it gone (hosts.memory.lines, lines_at_once) behind 127 threads, not 15, takes what 64 "
      "pairs that wake each other by messages take more than eight, less the same by eventfds");
}

// As the profile has them.
sim::CostBySize Conclusion::lines() const {
  std::vector<sim::MemoryProfile::CostAtSize> lines;
  for (const json& point : document_.at(pointer_to("server.memory.lines"))) {
    lines.push_back({point.at("working_set_bytes").get<std::uint64_t>(),
                     std::llround(point.at("line_ns").get<double>() * sim::ps_in_ns)});
  }
  return sim::CostBySize(lines);
}

void Conclusion::kernel() {
  take("system call", "ns", measured(sampled::system_call), {"hosts.scheduler.syscall_ns"}, "getppid");
  take("switch of threads", "ns", measured(sampled::thread_switch), {"hosts.scheduler.switch_cost_ns"},
       "two threads that yield to each other on one CPU: their CPU time less the calls', a switch");
  const Derived made = timed(sampled::thread_made) - measured(sampled::thread_switch);
  take("making a thread", "ns", made, {"hosts.scheduler.make_thread_ns"},
       "from before it until the thread runs on the same CPU, less the switch");
  take("beginning of a thread", "ns", timed(sampled::thread_begun) - timed(sampled::thread_made),
       {"hosts.scheduler.begin_thread_ns"}, "what this program's threads do first: name and cores");
  const Derived here = timed(sampled::wake_write_here);
  take("waking a thread of the own CPU", "ns", waking(), {"hosts.scheduler.wake_cost_ns"},
       "the waker's write to an eventfd, when the woken one does not preempt it");
  take("waking one of an idle CPU", "ns", timed(sampled::wake_write) - here, {"hosts.scheduler.wake_idle_ns"},
       "the same for a thread of another CPU, less that");
  const Derived reading = measured(sampled::event_read);
  take("an idle CPU halts after", "ns", measured(sampled::halts_after) - reading,
       {"hosts.scheduler.halt_after_ns"},
       "from when it became idle: who wakes a thread of it before that interrupts nothing");
  take("wake-up before it halts", "ns", measured(sampled::read_before_halt) - reading,
       {"hosts.scheduler.wakeup_before_halt_ns"},
       "from when a CPU became idle until a thread runs that an eventfd wakes before it halts");
  const Derived reschedule = measured(sampled::wake_preempting) - measured(sampled::wake_write_busy);
  take("and taking another CPU for it", "ns", reschedule, {"hosts.scheduler.reschedule_ns"},
       "the write that wakes a thread of another CPU which preempts there, less one that does not");
  const Derived interrupted = measured(sampled::lost_to_wake) - (timed(sampled::wake_preempting_here) - here);
  take(
      "that CPU's interrupt", "ns", interrupted, {"hosts.scheduler.reschedule_interrupt_ns"},
      "what the thread that runs there loses, which makes system calls, less what it does when it wakes that "
      "one itself");
  const Derived hop = measured(sampled::wake_together);
  Derived apart = measured(sampled::wake_apart) - hop - doubling() * sampled::apart_doublings;
  if (const Derived preempts = measured(sampled::preempts_apart); preempts.estimate && reschedule.estimate) {
    apart = apart - (reschedule + interrupted) * preempts.estimate->value;
  }
  take("waking one of a busy CPU", "ns", apart, {"hosts.scheduler.wake_elsewhere_ns"},
       "pairs of threads that wake each other on two CPUs, less as many threads a CPU on one: CPU time of "
       "both a wake-up, less what their preempting costs");
  take(
      "waking one beside a busy CPU", "ns", measured(sampled::wake_beside) - hop,
      {"hosts.scheduler.wake_beside_ns"},
      "twice as many pairs of threads on two CPUs, each on either, less the same on one: CPU time a wake-up");
  take("switch, each doubling of the threads", "ns", doubling(), {"hosts.scheduler.run_queue_level_ns"},
       "64 pairs of threads that wake each other on one CPU, less eight of them: CPU time a wake-up");
  take("falling asleep", "ns", falling_asleep(), {"hosts.scheduler.fall_asleep_ns"},
       "eight of these pairs, less waking, reading and switching");
  const auto timed_sleep = [this](const char* with, const char* without) {
    return (measured(with) - measured(without)) * 2;  // one wake-up of two
  };
  const Derived timer = timed_sleep(sampled::wake_deadline_alone, sampled::wake_epoll_alone);
  take("falling asleep with a deadline", "ns", timer, {"hosts.scheduler.timed_sleep_ns"},
       "a pair, one of which waits in epoll_pwait2 with a deadline, less the same without one");
  take("and among others", "ns",
       timed_sleep(sampled::wake_deadline_together, sampled::wake_epoll_together) - timer,
       {"hosts.scheduler.timed_sleep_among_ns"}, "the same of eight pairs, less that");
  if (soft_) {
    take("wake-up by a completion channel", "ns", wake_up(), {"hosts.scheduler.wakeup_latency_ns"},
         "half a round trip by events between two CPUs that are idle meanwhile, the median turn's, less "
         "posting and taking");
    take("wake-up by an eventfd", "ns", wake_up_by_eventfd(), {}, "from the write's end, for comparison");
  } else {
    take("wake-up by an eventfd", "ns", wake_up(), {"hosts.scheduler.wakeup_latency_ns"},
         "of another CPU's thread, from the write's end");
    take("round trip by events", "ns", typical(sampled::event_round_trip), {},
         "between two CPUs that are idle meanwhile, for comparison");
  }
  take("wake-up by a futex", "ns", timed(sampled::wake_futex), {},
       "of another CPU's thread, from before the wake, for comparison");
}

void Conclusion::time_slices() {
  const bool eevdf = has_eevdf(machine_.kernel_release);
  observe("hosts.scheduler.kind", eevdf ? "eevdf" : "cfs", "Linux " + machine_.kernel_release);
  if (eevdf) observe("hosts.scheduler.wake_affine", true, "Linux " + machine_.kernel_release);
  if (machine_.packs_cpus)
    observe("hosts.scheduler.packs_cpus", true, "sched_vcpu_pack on the kernel's command line");
  if (eevdf)
    observe("hosts.scheduler.grouped", machine_.autogroups && reweighs_by_lag(machine_.kernel_release),
            "kernel.sched_autogroup_enabled, Linux " + machine_.kernel_release);
  for (const std::string& name : samples_.names(sampled::slice_prefix)) {
    take(fmt::format("slice of {} spinning threads",
                     name.substr(std::string_view(sampled::slice_prefix).size())),
         "ns", measured(name), {}, "on one CPU");
  }
  const Derived tick = measured(sampled::tick);
  take("tick", "ns", tick, {"hosts.scheduler.tick_ns"}, "the period that slices of spinning threads end at");
  // A slice begins after a tick that took up to the jitter, at random, and its thread sees its end after
  // another one: the differences of two such times have an interquartile range of (2 - sqrt(2)) times it.
  Derived jitter = measured(sampled::slice(2));
  if (jitter.estimate)
    jitter.estimate = Estimate{jitter.estimate->spread / 0.586, 0, jitter.estimate->samples};
  take("tick's jitter", "ns", jitter, {"hosts.scheduler.tick_jitter_ns"}, "by the spread of slices");
  take("other programs' threads", "Hz", measured(sampled::background), {"hosts.scheduler.background_hz"},
       "involuntary switches of threads that spin on all CPUs, one on each");
  take("other programs' threads, long", "Hz", measured(sampled::background_long),
       {"hosts.scheduler.background_long_hz"}, "those after which 0.1 ms or more were gone");
  take("how long these ran", "ns", typical(sampled::background_run), {"hosts.scheduler.background_long_ns"},
       "what was gone; median");
  take("of these, heavy ones", "of their time", measured(sampled::heavy_part),
       {"hosts.scheduler.background_heavy_part"}, "/proc/PID/schedstat of threads with a nice below 0");
  take("how much these weigh", "threads", measured(sampled::heavy_weight),
       {"hosts.scheduler.background_heavy_weight"}, "1.25 for each step of nice");
  // One that comes to any CPU comes to its own again by chance.
  const auto cpus = static_cast<double>(machine_.cpus.all.size());
  Derived moving = measured(sampled::long_changing) * (cpus > 1 ? cpus / (cpus - 1) : 1);
  if (moving.estimate) moving.estimate->value = std::min(moving.estimate->value, 1.0);
  take("those that ran for long, moving", "of their turns", moving, {"hosts.scheduler.background_moving"},
       "/proc/PID/sched, se.nr_migrations");
  const std::string field = "hosts.scheduler.slice_ns";
  const auto slice = samples_.find_typical(sampled::slice(2));
  if (!tick.estimate || !slice) {
    leave(field, {field}, tick.estimate ? "no slice was seen whole" : tick.why);
    return;
  }
  if (!eevdf) {
    leave(field, {field}, "CFS's, which shows in slices only together with latency_ns");
    return;
  }
  // Slices end at ticks, so only a range is known.
  const SliceRange range = slice_range(slice->value, tick.estimate->value);
  const double given = static_cast<double>(base_.server.scheduler.slice) / sim::ps_in_ns;
  if (given > range.above_ns && given <= range.up_to_ns) {
    leave(field, {field},
          fmt::format("ends at ticks: slices of {:.3g} ms say that it is above {:.3g} and up to {:.3g} ms, "
                      "which {:.3g} ms is",
                      slice->value / 1e6, range.above_ns / 1e6, range.up_to_ns / 1e6, given / 1e6));
    return;
  }
  take("base slice", "ns",
       {Estimate{(range.above_ns + range.up_to_ns) / 2, range.up_to_ns - range.above_ns, slice->samples}, ""},
       {field}, "middle of what agrees with the slices, which end at ticks; the spread is that range");
}

void Conclusion::verbs() {
  for (const std::string transport : transports) {
    const std::string prefix = "hosts." + transport + ".";
    const auto name = [&](const char* what) { return fmt::format("{}: {}", transport, what); };
    const auto sample = [&](const char* what) { return sampled::of(transport, what); };
    const Derived post_receive = timed(sample(sampled::post_receive));
    take(name("post a receive"), "ns", post_receive, {prefix + "post_receive_ns"}, "ibv_post_recv of one");
    take(name("a further receive of a post"), "ns",
         post_receive - saved_each(sample(sampled::receives_apart), sample(sampled::receives_together)),
         {prefix + "receive_chained_ns"}, "ibv_post_recv of one less what posting eight together saves each");
    // What another CPU has to do with it is in nic.soft_elsewhere_ns.
    const Derived receive = soft_ ? timed(sampled::poll_receive_here) : timed(sample(sampled::poll_receive));
    take(name("poll that finds one"), "ns", (receive + timed(sample(sampled::poll_send))) * 0.5,
         {prefix + "poll_ns"}, "a look of a wait set; mean of a receive and an own send");
    const Derived empty = measured(sample(sampled::empty_poll));
    take(name("poll that finds none"), "ns", empty, {prefix + "empty_poll_ns"}, "a look of a wait set");
    const Derived arm = measured(sample(sampled::arm));
    take(name("arm"), "ns", arm, {prefix + "arm_ns"}, "ibv_req_notify_cq");
    take(name("event"), "ns", timed(sample(sampled::take_event)) - measured(sampled::system_call) - arm,
         {prefix + "event_ns"},
         "epoll_pwait2 that need not wait, and taking the event, less a system call and arming");
  }
  if (soft_) {
    soft_transfers();
  } else {
    const double doorbell = static_cast<double>(base_.nic.doorbell) / sim::ps_in_ns;
    for (const std::string transport : transports) {
      const Derived rung = certain(doorbell);
      posts(transport, timed(sampled::of(transport, sampled::post_send_small)) - rung,
            "ibv_post_send less the base's doorbell_ns", rung);
    }
  }
  for (const std::string transport : transports) {
    take(transport + ": round trip", "ns", timed(sampled::of(transport, sampled::round_trip)), {},
         fmt::format("{} bytes each way between two CPUs, both spin", sampled::small_message_bytes));
  }
}

// What each but the first of some posts saves when they are one.
Derived Conclusion::saved_each(const std::string& apart, const std::string& together) const {
  return (timed(apart) - timed(together)) * (1.0 / (sampled::posted_together - 1));
}

// Of a send alone, without its doorbell, and of one that is posted behind another, which has none.
void Conclusion::posts(const std::string& transport, const Derived& alone, const std::string& how,
                       const Derived& doorbell) {
  const std::string prefix = "hosts." + transport + ".";
  const auto sample = [&](const char* what) { return sampled::of(transport, what); };
  take(transport + ": post a send", "ns", alone, {prefix + "post_send_ns"}, how);
  take(transport + ": a further send of a post", "ns",
       alone + doorbell - saved_each(sample(sampled::sends_apart), sample(sampled::sends_together)),
       {prefix + "post_chained_ns"}, "the same less what posting eight together saves each");
}

// soft0 moves a message within ibv_post_send. What a post costs whose message reaches nobody is the post's
// own; the rest is the transfer, which is the same for all transports.
void Conclusion::soft_transfers() {
  constexpr double more_bytes = sampled::large_message_bytes - sampled::small_message_bytes;
  const auto post = [&](const char* transport) {
    return timed(sampled::of(transport, sampled::post_send_small));
  };
  const Derived per_byte =
      (timed(sampled::of("uc", sampled::post_send_large)) - post("uc")) * (1 / more_bytes);
  take("soft0: copying", "ns/B", per_byte, {"nic.soft_copy_ns_per_byte"},
       fmt::format("ibv_post_send of {} less that of {} bytes, UC", sampled::large_message_bytes,
                   sampled::small_message_bytes));
  const Derived copying = per_byte * sampled::small_message_bytes;
  const Derived alone = timed(sampled::post_send_unreceived);
  const Derived transfer = timed(sampled::post_send_here) - alone - copying;
  take("soft0: transfer", "ns", transfer, {"nic.soft_transfer_ns"},
       "ibv_post_send of UC within a CPU, less one whose peer is gone and less copying");
  const Derived taking = timed(sampled::of("uc", sampled::poll_receive));
  const Derived elsewhere = post("uc") - timed(sampled::post_send_here);
  const Derived between = measured(sampled::of("uc", sampled::round_trip));  // of two CPUs only
  take("soft0: between CPUs", "ns",
       between.estimate ? (elsewhere + taking - timed(sampled::poll_receive_here)) * 0.5 : between,
       {"nic.soft_elsewhere_ns"},
       "posting and taking a message of another CPU, less the same within one; each");
  take("soft0: until another CPU sees it", "ns",
       (timed(sampled::of("uc", sampled::round_trip)) - timed(sampled::of("uc", sampled::post_receive))) *
               0.5 -
           post("uc") - taking,
       {"nic.soft_visible_ns"}, "half a round trip, less posting and taking");
  const auto reading = [&](const char* transport) {
    return timed(sampled::of(transport, sampled::round_trip_read)) -
           timed(sampled::of(transport, sampled::round_trip_unread));
  };
  take("soft0: reading", "ns/B",
       (reading("rc") + reading("uc") + reading("ud")) * (1.0 / (3 * 2 * sampled::request_bytes)),
       {"nic.soft_read_ns_per_byte"},
       fmt::format("round trips of {} bytes that both sides read whole, less such of which they read the "
                   "header; mean of the transports",
                   sampled::request_bytes));
  for (const std::string transport : transports) {
    const Derived none = certain(0);
    posts(transport, transport == "uc" ? alone : post(transport.c_str()) - elsewhere - transfer - copying,
          transport == "uc" ? "ibv_post_send whose peer is gone" : "ibv_post_send less transfer and copying",
          none);
  }
  take("soft0: waking the receiver", "ns", soft_wake(), {"nic.soft_wake_ns"},
       "eight pairs of threads on one CPU that wake each other by completion events, less posting, taking, "
       "falling asleep, switching and coming back");
  take("soft0: waking one that slept long", "ns",
       timed(sampled::post_send_waking_here) - timed(sampled::post_send_here), {},
       "ibv_post_send that a thread of the own CPU sleeps for, less one that finds it awake; for comparison");
  take("soft0: an event", "ns",
       timed(sampled::of("uc", sampled::post_send_armed)) - timed(sampled::post_send_here),
       {"nic.soft_event_ns"},
       "ibv_post_send to an armed queue that no thread sleeps for, less one to a queue that is not");
  take("soft0: waking one of an idle CPU", "ns", timed(sampled::post_send_waking) - post("uc"), {},
       "the same of another CPU, for comparison");
}

void Conclusion::tcp() {
  const Derived call = measured(sampled::system_call);
  constexpr double more_bytes = sampled::tcp_large_bytes - sampled::tcp_small_bytes;
  const Derived send = timed(sampled::tcp_send_small);
  const Derived receive = timed(sampled::tcp_receive_small);
  const Derived per_byte =
      (timed(sampled::tcp_send_large) - send + timed(sampled::tcp_receive_large) - receive) *
      (0.5 / more_bytes);
  take("TCP: a byte", "ns/B", per_byte, {"tcp.ns_per_byte"},
       "mean of send and recv, of 16384 less of 64 bytes, over loopback");
  const Derived copying = per_byte * sampled::tcp_small_bytes;
  // On loopback the sending thread does the receive processing too, and their sum is what shows.
  const Derived both = send - call - copying;
  const auto sending = static_cast<double>(base_.tcp.send);
  const auto interrupt = static_cast<double>(base_.tcp.soft_interrupt);
  const double part = sending + interrupt > 0 ? sending / (sending + interrupt) : 0.5;
  const std::string split = "send(2) with the receive processing of loopback, divided as in the base";
  take("TCP: send", "ns", both * part, {"tcp.send_ns"}, split);
  take("TCP: receive processing", "ns", both * (1 - part), {"tcp.soft_interrupt_ns"}, split);
  take("TCP: receive", "ns", receive - call - copying, {"tcp.receive_ns"}, "recv(2) less a system call");
  take("TCP: receive that finds nothing", "ns", measured(sampled::tcp_empty_receive) - call,
       {"tcp.empty_receive_ns"}, "recv(2) less a system call");
  tcp_footprint();
  take("TCP: behind another thread", "ns",
       measured(sampled::tcp_together) - waking() - sleeping() - send - receive -
           certain(coming_back_ns(tcp_footprint_bytes())),
       {"tcp.after_switch_ns"},
       "eight pairs of threads on one CPU that wake each other by messages, less waking, falling asleep, "
       "switching, coming back and what the calls take in a row");
  // Who spins takes it half a look later.
  const Derived look = measured(sampled::tcp_empty_receive);
  const Derived way = (timed(sampled::tcp_round_trip) - look) * 0.5;
  // Both at the same time cannot be told from one another, so one of them is 0.
  const Derived early = send + receive - way;
  const std::string both_ways =
      "send(2) and recv(2) within one CPU, less half a round trip between two that spin";
  if (early.estimate && early.estimate->value < 0) {
    take("TCP: between CPUs", "ns", early * -1, {"tcp.elsewhere_ns"}, both_ways + ": what is missing");
    observe("tcp.early_ns", 0, "takes longer between two CPUs than within one");
  } else {
    take("TCP: seen early by another CPU", "ns", early, {"tcp.early_ns"}, both_ways);
    if (early.estimate) observe("tcp.elsewhere_ns", 0, "takes no longer between two CPUs than within one");
  }
  // Over soft0 the wake-up is what is left of round trips by events, and so the two are compared themselves.
  const Derived between_idle = soft_ ? typical(sampled::tcp_event_more) * 0.5 + around_wake_up()
                                     : typical(sampled::tcp_event_round_trip) * 0.5 - wake_up();
  take("TCP: on an idle CPU", "ns", between_idle - way - waking(), {"tcp.after_idle_ns"},
       "half a round trip between two CPUs that are idle meanwhile, less one between two that spin and the "
       "wake-up");
  take("TCP: epoll", "ns", measured(sampled::tcp_epoll) - call, {"tcp.epoll_ns"},
       "epoll_pwait2 that finds one, less a system call");
  take("TCP: select", "ns",
       (measured(sampled::tcp_together_select) - measured(sampled::tcp_together)) * 2 - call,
       {"tcp.select_ns"},
       "eight pairs that wake each other by messages, one of each waiting in select(2), less the same in "
       "recv(2) and a system call");
  take("TCP: round trip", "ns", timed(sampled::tcp_round_trip), {},
       fmt::format("{} bytes each way between two CPUs, both spin", sampled::tcp_small_bytes));
}

void Conclusion::leave_the_rest() {
  json hosts_once = document_;
  hosts_once["hosts"] = std::move(hosts_once["server"]);
  hosts_once.erase("server");
  hosts_once.erase("client");
  Fields fields;
  leaves(hosts_once, "", fields);
  const auto reasons = reasons_to_leave(soft_);
  std::map<std::size_t, Fields> by_reason;
  for (const std::string& field : fields) {
    if (known_.contains(field)) continue;
    const auto reason = std::find_if(reasons.begin(), reasons.end(),
                                     [&](const Reason& one) { return belongs(field, one.part); });
    by_reason[static_cast<std::size_t>(reason - reasons.begin())].push_back(field);
  }
  for (auto& [index, members] : by_reason) {
    const Reason& reason = reasons[index];
    const bool whole = members.size() > 1;
    leave(whole ? fmt::format("{}{}", reason.part, reason.part.empty() ? "others" : ", others of it")
                : members.front(),
          members, std::string(reason.why));
  }
}

}  // namespace

Findings conclude(const Samples& samples, const MachineFacts& machine, bool soft, const sim::Profile& base) {
  return Conclusion(samples, machine, soft, base).result();
}

}  // namespace rkv::calibration
