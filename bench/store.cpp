// What an operation of each store costs by itself, one thread.
//
// chained: buckets x entries a chain; a missing key is walked for (most of the thesis's GETs), the newest key
// is found at once, SET overwrites the oldest. cuckoo: by the number of entries.
#include <benchmark/benchmark.h>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "backends/verbs/port/thread_runtime.hpp"
#include "core/store/djb2.hpp"
#include "core/store/store.hpp"

namespace {

using namespace rkv;

constexpr std::uint64_t max_bytes = std::uint64_t{1} << 32;
constexpr std::size_t value_bytes = 32;

std::span<const std::byte> bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string numbered(std::uint64_t number) {
  return "Key from instance 0 count " + std::to_string(number);
}

std::unique_ptr<Store> make(StoreOptions::Kind kind, std::uint32_t buckets, Runtime& runtime) {
  StoreOptions options;
  options.kind = kind;
  options.buckets = buckets;
  return make_store(options, runtime, max_bytes);
}

// Chains of exactly `length`, filled in rounds over the buckets as a run fills them. Keys in order of age.
std::vector<std::string> fill_chains(Store& store, std::uint32_t buckets, std::uint64_t length) {
  std::vector<std::uint64_t> lengths(buckets);
  std::vector<std::string> keys;
  const std::vector<std::byte> value(value_bytes);
  Work work;
  for (std::uint64_t number = 0; keys.size() < buckets * length; ++number) {
    std::string key = numbered(number);
    std::uint64_t& chain = lengths[djb2(bytes(key)) % buckets];
    if (chain < length) {
      ++chain;
      store.set(bytes(key), value, work);
      keys.push_back(std::move(key));
    }
  }
  return keys;
}

void report_walk(benchmark::State& state, const Work& work) {
  state.counters["entries"] =
      benchmark::Counter(static_cast<double>(work.entries_walked), benchmark::Counter::kAvgIterations);
  state.counters["store_bytes"] = static_cast<double>(work.working_set_bytes);
}

enum class Chained { get_missing, get_newest, set_oldest };

template <Chained operation>
void chained(benchmark::State& state) {
  const auto buckets = static_cast<std::uint32_t>(state.range(0));
  verbs::ThreadRuntime runtime;
  const auto store = make(StoreOptions::Kind::chained, buckets, runtime);
  std::vector<std::string> keys = fill_chains(*store, buckets, static_cast<std::uint64_t>(state.range(1)));
  // One key a bucket, roughly; asked for in random order, so that no chain is still in the cache.
  if (operation == Chained::get_newest) {
    keys.erase(keys.begin(), keys.end() - buckets);
  } else {
    keys.resize(buckets);
  }
  if (operation == Chained::get_missing) {
    for (std::uint64_t i = 0; i < buckets; ++i) {
      keys[i] = "missing " + std::to_string(i);
    }
  }
  std::shuffle(keys.begin(), keys.end(), std::mt19937_64(1));

  std::array<std::byte, value_bytes> value{};
  Work work;
  std::size_t next = 0;
  for ([[maybe_unused]] auto iteration : state) {
    const std::span<const std::byte> key = bytes(keys[next]);
    next = next + 1 == keys.size() ? 0 : next + 1;
    if constexpr (operation == Chained::set_oldest) {
      benchmark::DoNotOptimize(store->set(key, value, work));
    } else {
      benchmark::DoNotOptimize(store->get(key, value, work));
    }
  }
  report_walk(state, work);
}

template <bool writes>
void cuckoo(benchmark::State& state) {
  verbs::ThreadRuntime runtime;
  const auto store = make(StoreOptions::Kind::cuckoo, 1, runtime);
  std::array<std::byte, value_bytes> value{};
  std::vector<std::string> keys;
  Work work;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    keys.push_back(numbered(static_cast<std::uint64_t>(i)));
    store->set(bytes(keys.back()), value, work);
  }
  std::shuffle(keys.begin(), keys.end(), std::mt19937_64(1));
  work = {};
  std::size_t next = 0;
  for ([[maybe_unused]] auto iteration : state) {
    const std::span<const std::byte> key = bytes(keys[next]);
    next = next + 1 == keys.size() ? 0 : next + 1;
    if constexpr (writes) {
      benchmark::DoNotOptimize(store->set(key, value, work));
    } else {
      benchmark::DoNotOptimize(store->get(key, value, work));
    }
  }
  report_walk(state, work);
}

// Chains that stay in the cache, and chains of a whole table that does not.
void chains(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"buckets", "chain"});
  for (const std::int64_t length : {1, 8, 64, 512}) {
    benchmark->Args({1, length});
  }
  for (const std::int64_t length : {1, 64, 256}) {
    benchmark->Args({1024, length});
  }
}

BENCHMARK(chained<Chained::get_missing>)->Name("chained/GET of a missing key")->Apply(chains);
BENCHMARK(chained<Chained::get_newest>)->Name("chained/GET of the newest key")->Apply(chains);
BENCHMARK(chained<Chained::set_oldest>)->Name("chained/SET of the oldest key")->Apply(chains);
BENCHMARK(cuckoo<false>)->Name("cuckoo/GET")->ArgName("entries")->Arg(1'000)->Arg(1'000'000);
BENCHMARK(cuckoo<true>)->Name("cuckoo/SET in place")->ArgName("entries")->Arg(1'000)->Arg(1'000'000);

}  // namespace

BENCHMARK_MAIN();
