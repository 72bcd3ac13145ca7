// Walks are measured in the store itself (core/store/chained_store.hpp): GETs of missing keys, which go
// along a whole chain. A store of each size is kept, so that rounds can interleave; chains are as keys of the
// thesis's workload hash into them, 32 entries on average, and lie in memory as the entries of a run do,
// among those of a thousand other chains.
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "backends/verbs/port/thread_runtime.hpp"
#include "calibration/measure/names.hpp"
#include "calibration/measure/neighbours.hpp"
#include "calibration/measure/probes.hpp"
#include "calibration/measure/stopwatch.hpp"
#include "core/store/chained_store.hpp"
#include "core/store/djb2.hpp"
#include "core/workload/thesis_text.hpp"

namespace rkv::calibration {
namespace {

constexpr std::uint64_t max_store_bytes = std::uint64_t{1} << 34;
constexpr std::uint32_t value_bytes = 32;
constexpr std::uint64_t typical_entry_bytes =
    150;  // with the blobs of key and value, and its part of a bucket
constexpr std::uint64_t chain_entries = 32;
constexpr std::uint64_t buckets_filled_together = 1024;  // the thesis's table
// A batch is short, so that few are interrupted by another thread.
constexpr std::size_t gets = 32;
constexpr unsigned batches = 12;
constexpr unsigned repeated_operations = 500;
// A store that the last-level cache can hold is there when it is in use: chains at random are walked before,
// several times as many as there are.
constexpr std::uint64_t cache_bytes_not_told = 8 << 20;
constexpr std::uint64_t most_warmed_bytes = 32 << 20;
constexpr std::size_t warming_gets = 4;    // for each chain, of which all but one in 50 are walked
constexpr std::uint64_t memory_part = 16;  // of what is available, for the largest store: half of them all
// Neighbours take from a larger store while it is walked. What it costs where they did not is told by
// chains that are walked again so soon, after others that push them out of the caches near this CPU.
constexpr std::uint64_t walked_again_from_bytes = 2 << 20;
constexpr Duration until_again{1'000'000};
static_assert(until_again.count() == sampled::again_after_ns);
constexpr std::size_t gets_between = 8;  // two looks at the clock
// What neighbours take in pauses, the CPU's work being elsewhere: of a store that is walked in much less.
constexpr std::uint64_t paused_bytes = 2 << 20;
constexpr std::array pauses_ms{0, 1, 3, 6, 12, 25, 50};

using Key = std::array<std::byte, thesis_key_max_bytes>;

struct KeyText {
  Key bytes;
  std::uint32_t length = 0;
  KeyText(std::uint32_t client, std::uint64_t count)
      : bytes(), length(write_thesis_key(client, static_cast<std::int64_t>(count), bytes)) {}
  [[nodiscard]] std::span<const std::byte> text() const { return std::span(bytes).first(length); }
};

// Keys of client 0 are in the store, those of client 1 are not.
constexpr std::uint32_t present = 0;
constexpr std::uint32_t missing = 1;

class WalkedStore {
 public:
  WalkedStore(std::uint64_t bytes, Runtime& runtime, const Bench& bench)
      : buckets_(static_cast<std::uint32_t>(
            std::max<std::uint64_t>(bytes / typical_entry_bytes / chain_entries, 1))),
        store_(buckets_, runtime, max_store_bytes) {
    // A thousand chains at a time, which stay in the caches while they are made: a SET walks.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> order;  // of the bucket, and the key's number
    for (std::uint64_t count = 0; count < buckets_ * chain_entries; ++count) {
      const std::uint64_t bucket = djb2(KeyText(present, count).text()) % buckets_;
      order.emplace_back(bucket / buckets_filled_together, count);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    const std::vector<std::byte> value(value_bytes);
    Work work;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i % 4096 == 0) bench.throw_if_stopped();
      store_.set(KeyText(present, order[i].second).text(), value, work);
    }
    working_set_bytes_ = work.working_set_bytes;
  }

  [[nodiscard]] std::uint64_t working_set_bytes() const { return working_set_bytes_; }

  void warm(std::mt19937_64& random) {
    Work ignored;
    get_all(missing_keys(random, warming_gets * buckets_), ignored);
  }

  // Nanoseconds an entry, beside `operation_ns` for each GET.
  [[nodiscard]] double entry_ns(std::mt19937_64& random, double operation_ns) {
    return median_of_batches([&] { return batch_ns(missing_keys(random, gets), operation_ns); });
  }

  // The same of chains that were walked until_again before.
  [[nodiscard]] double entry_again_ns(std::mt19937_64& random, double operation_ns) {
    return median_of_batches([&] {
      const std::vector<KeyText> keys = missing_keys(random, gets);
      Work ignored;
      get_all(keys, ignored);
      const Instant again = verbs::clock_now() + until_again;
      while (verbs::clock_now() < again) get_all(missing_keys(random, gets_between), ignored);
      return batch_ns(keys, operation_ns);
    });
  }

  // The same after each of the pauses, before which all was walked.
  [[nodiscard]] std::vector<AfterPause> after_pauses(std::mt19937_64& random, double operation_ns) {
    std::vector<AfterPause> costs;
    for (const int pause_ms : pauses_ms) {
      warm(random);
      const std::vector<KeyText> keys = missing_keys(random, gets);
      const Duration pause = std::chrono::milliseconds(pause_ms);
      work_for(pause);
      costs.push_back({static_cast<double>(pause.count()), batch_ns(keys, operation_ns)});
    }
    return costs;
  }

 private:
  template <typename Batch>
  static double median_of_batches(Batch&& batch) {
    std::vector<double> entries_ns;
    for (unsigned i = 0; i < batches; ++i) entries_ns.push_back(batch());
    return quantile(std::move(entries_ns), 0.5);
  }

  double batch_ns(const std::vector<KeyText>& keys, double operation_ns) {
    Work work;
    const double time = timed([&] { get_all(keys, work); }) - operation_ns * static_cast<double>(keys.size());
    return time / static_cast<double>(work.entries_walked);
  }

  static std::vector<KeyText> missing_keys(std::mt19937_64& random, std::size_t count) {
    std::vector<KeyText> keys;
    for (std::size_t i = 0; i < count; ++i) keys.emplace_back(missing, random() >> 24);
    return keys;
  }

  void get_all(const std::vector<KeyText>& keys, Work& work) {
    std::array<std::byte, value_bytes> value;
    for (const KeyText& key : keys) keep(store_.get(key.text(), value, work));
  }

  std::uint32_t buckets_;
  ChainedStore store_;
  std::uint64_t working_set_bytes_ = 0;
};

class StoreProbe final : public Probe {
 public:
  StoreProbe(const Bench& bench, const std::vector<std::uint64_t>& sizes)
      : warmed_bytes_(std::min(most_warmed_bytes, bench.machine.last_level_cache_bytes > 0
                                                      ? bench.machine.last_level_cache_bytes
                                                      : cache_bytes_not_told)),
        empty_(1, runtime_, max_store_bytes) {
    for (const std::uint64_t size : sizes) {
      stores_.push_back(std::make_unique<WalkedStore>(size, runtime_, bench));
      if (size == paused_bytes) paused_ = stores_.back().get();
    }
  }

  [[nodiscard]] std::string_view name() const override { return "store"; }

  void repeat(Samples& samples) override {
    const KeyText key(missing, 17);
    std::array<std::byte, value_bytes> value;
    Work work;
    const double operation = each_of(repeated_operations, [&] { keep(empty_.get(key.text(), value, work)); });
    samples.add(sampled::store_operation, operation);
    Key text;
    std::int64_t count = 1'000'000;
    samples.add(sampled::format_key,
                each_of(repeated_operations, [&] { keep(write_thesis_key(7, ++count, text)); }));
    for (const auto& store : stores_) {
      const std::uint64_t bytes = store->working_set_bytes();
      if (bytes <= warmed_bytes_) store->warm(random_);
      samples.add(sampled::walk(bytes), store->entry_ns(random_, operation));
      if (bytes > walked_again_from_bytes && bytes <= warmed_bytes_) {
        samples.add(sampled::walk_again(bytes), store->entry_again_ns(random_, operation));
      }
    }
    if (!paused_) return;
    const auto neighbours = neighbours_of(paused_->after_pauses(random_, operation));
    samples.add(sampled::kept, neighbours ? neighbours->kept_ns : 0);
    if (neighbours) samples.add(sampled::lost_entry, neighbours->lost_entry_ns);
  }

 private:
  std::uint64_t warmed_bytes_;
  verbs::ThreadRuntime runtime_;
  ChainedStore empty_;
  std::vector<std::unique_ptr<WalkedStore>> stores_;
  WalkedStore* paused_ = nullptr;  // one of them
  std::mt19937_64 random_{1};
};

}  // namespace

std::unique_ptr<Probe> make_store_probe(const Bench& bench, Samples& samples) {
  const std::uint64_t largest = bench.effort.quick ? std::uint64_t{1} << 20 : std::uint64_t{1} << 29;
  const std::uint64_t allowed = bench.machine.available_memory_bytes / memory_part;
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = 32 << 10; bytes <= largest && bytes <= allowed; bytes *= 2) {
    sizes.push_back(bytes);
  }
  if (largest < paused_bytes) samples.cannot(sampled::kept, "--quick makes small stores only");
  return std::make_unique<StoreProbe>(bench, sizes);
}

}  // namespace rkv::calibration
