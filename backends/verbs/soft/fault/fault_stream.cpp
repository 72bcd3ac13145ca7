#include "backends/verbs/soft/fault/fault_stream.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "backends/verbs/soft/fault.h"
#include "backends/verbs/soft/verbs/clock.hpp"

namespace rkv::soft {

std::atomic<bool> FaultStream::active_{false};

// What rkv_soft_set_faults last said. Read without a lock by posting threads, hence atomic field by field.
struct FaultSettings {
  std::mutex mutex;  // one writer at a time
  std::atomic<std::uint32_t> version{1};
  std::atomic<std::uint64_t> seed{0};
  std::atomic<double> drop{0};
  std::atomic<double> duplicate{0};
  std::atomic<double> reorder{0};
  std::atomic<double> rnr{0};
  std::atomic<std::uint64_t> delay_ns{0};
  std::atomic<std::uint64_t> word_pause_ns{0};
  std::atomic<bool> shuffle_writes{false};
  std::atomic<bool> shuffle_reads{false};

  std::atomic<std::uint64_t> dropped{0};
  std::atomic<std::uint64_t> duplicated{0};
  std::atomic<std::uint64_t> reordered{0};
  std::atomic<std::uint64_t> forced_rnr{0};
  std::atomic<std::uint64_t> delayed{0};

  int set(const rkv_soft_faults& faults) {
    for (const double probability : {faults.drop_probability, faults.duplicate_probability,
                                     faults.reorder_probability, faults.rnr_probability}) {
      if (!(probability >= 0 && probability <= 1)) {
        return EINVAL;
      }
    }
    const std::scoped_lock lock(mutex);
    seed.store(faults.seed, std::memory_order_relaxed);
    drop.store(faults.drop_probability, std::memory_order_relaxed);
    duplicate.store(faults.duplicate_probability, std::memory_order_relaxed);
    reorder.store(faults.reorder_probability, std::memory_order_relaxed);
    rnr.store(faults.rnr_probability, std::memory_order_relaxed);
    delay_ns.store(faults.delay_ns, std::memory_order_relaxed);
    word_pause_ns.store(faults.word_pause_ns, std::memory_order_relaxed);
    shuffle_writes.store(faults.shuffle_writes != 0, std::memory_order_relaxed);
    shuffle_reads.store(faults.shuffle_reads != 0, std::memory_order_relaxed);
    version.fetch_add(1, std::memory_order_release);
    FaultStream::active_.store(faults.drop_probability > 0 || faults.duplicate_probability > 0 ||
                                   faults.reorder_probability > 0 || faults.rnr_probability > 0 ||
                                   faults.delay_ns > 0 || faults.word_pause_ns > 0,
                               std::memory_order_release);
    return 0;
  }
};

namespace {

FaultSettings& settings() {
  static FaultSettings instance;
  return instance;
}

void count(std::atomic<std::uint64_t>& counter) {
  counter.fetch_add(1, std::memory_order_relaxed);
}

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
std::uint64_t split_mix(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

template <typename Number>
bool parse(const char* name, Number& value) {
  const char* const text = std::getenv(name);
  if (text == nullptr) {
    return true;
  }
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error == std::errc{} && stop == end) {
    return true;
  }
  std::fprintf(stderr, "rkv soft RNIC: environment variable %s=\"%s\" is not a number\n", name, text);
  return false;
}

}  // namespace

double FaultStream::draw(std::uint32_t qp_number) {
  FaultSettings& now = settings();
  if (const std::uint32_t version = now.version.load(std::memory_order_acquire); version != version_) {
    version_ = version;
    state_ = now.seed.load(std::memory_order_relaxed) ^ (std::uint64_t{qp_number} << 32);
    split_mix(state_);
  }
  return static_cast<double>(split_mix(state_) >> 11) * 0x1p-53;
}

MessageFault FaultStream::draw_message_fault(std::uint32_t stream_number, bool may_hold) {
  FaultSettings& now = settings();
  const double value = draw(stream_number);
  double bound = now.drop.load(std::memory_order_relaxed);
  if (value < bound) {
    count(now.dropped);
    return MessageFault::drop;
  }
  bound += now.duplicate.load(std::memory_order_relaxed);
  if (value < bound) {
    count(now.duplicated);
    return MessageFault::duplicate;
  }
  bound += now.reorder.load(std::memory_order_relaxed);
  if (value < bound && may_hold) {
    count(now.reordered);
    return MessageFault::reorder;
  }
  return MessageFault::none;
}

bool FaultStream::draw_rnr(std::uint32_t qp_number) {
  FaultSettings& now = settings();
  if (draw(qp_number) >= now.rnr.load(std::memory_order_relaxed)) {
    return false;
  }
  count(now.forced_rnr);
  return true;
}

std::uint64_t FaultStream::not_before_ns() {
  const std::uint64_t delay_ns = settings().delay_ns.load(std::memory_order_relaxed);
  if (delay_ns == 0) {
    return 0;
  }
  count(settings().delayed);
  return monotonic_ns() + delay_ns;
}

std::uint64_t TornCopies::word_pause_ns() {
  return settings().word_pause_ns.load(std::memory_order_relaxed);
}

bool TornCopies::shuffle_writes() {
  return settings().shuffle_writes.load(std::memory_order_relaxed);
}

bool TornCopies::shuffle_reads() {
  return settings().shuffle_reads.load(std::memory_order_relaxed);
}

bool set_faults_from_environment() {
  static const bool valid = [] {
    rkv_soft_faults faults{};
    bool understood = parse("RKV_SOFT_SEED", faults.seed);
    understood &= parse("RKV_SOFT_DROP", faults.drop_probability);
    understood &= parse("RKV_SOFT_DUPLICATE", faults.duplicate_probability);
    understood &= parse("RKV_SOFT_REORDER", faults.reorder_probability);
    understood &= parse("RKV_SOFT_RNR", faults.rnr_probability);
    understood &= parse("RKV_SOFT_DELAY_NS", faults.delay_ns);
    if (!understood) {
      return false;
    }
    const bool any = faults.drop_probability != 0 || faults.duplicate_probability != 0 ||
                     faults.reorder_probability != 0 || faults.rnr_probability != 0 || faults.delay_ns != 0;
    if (any && settings().set(faults) != 0) {
      std::fprintf(
          stderr,
          "rkv soft RNIC: RKV_SOFT_DROP, _DUPLICATE, _REORDER and _RNR are probabilities from 0 to 1\n");
      return false;
    }
    return true;
  }();
  return valid;
}

}  // namespace rkv::soft

using rkv::soft::settings;

#define RKV_SOFT_EXPORT extern "C" __attribute__((visibility("default")))

RKV_SOFT_EXPORT int rkv_soft_set_faults(const rkv_soft_faults* faults) {
  return settings().set(faults == nullptr ? rkv_soft_faults{} : *faults);
}

RKV_SOFT_EXPORT void rkv_soft_get_fault_counters(rkv_soft_fault_counters* counters) {
  auto& now = settings();
  counters->dropped = now.dropped.load(std::memory_order_relaxed);
  counters->duplicated = now.duplicated.load(std::memory_order_relaxed);
  counters->reordered = now.reordered.load(std::memory_order_relaxed);
  counters->forced_rnr = now.forced_rnr.load(std::memory_order_relaxed);
  counters->delayed = now.delayed.load(std::memory_order_relaxed);
}

RKV_SOFT_EXPORT void rkv_soft_reset_fault_counters() {
  auto& now = settings();
  for (auto* const each : {&now.dropped, &now.duplicated, &now.reordered, &now.forced_rnr, &now.delayed}) {
    each->store(0, std::memory_order_relaxed);
  }
}
