#include "backends/sim/run/thesis_stage.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/store/blob.hpp"
#include "core/store/chained_store.hpp"
#include "core/store/djb2.hpp"
#include "core/workload/operation_stream.hpp"
#include "core/workload/rng.hpp"
#include "core/workload/thesis_text.hpp"

namespace rkv::sim {

ThesisStage::ThesisStage(std::uint64_t seed, std::uint32_t clients, std::uint32_t buckets,
                         const RunSoFar& run)
    : seed_(seed),
      buckets_(buckets),
      run_(run),
      operations_(clients),
      chains_(buckets),
      chains_of_client_(std::size_t{clients} * buckets) {}

void ThesisStage::clear() {
  for (auto* counts : {&operations_, &chains_, &chains_of_client_})
    std::fill(counts->begin(), counts->end(), 0);
  entries_ = bytes_ = 0;
}

void ThesisStage::follow() {
  const std::span<const double> wanted = run_.operations();
  for (std::size_t client = 0; client < operations_.size(); ++client) {
    if (wanted[client] < static_cast<double>(operations_[client])) {
      clear();
      break;
    }
  }
  for (std::uint32_t client = 0; client < operations_.size(); ++client) {
    advance(client, static_cast<std::uint64_t>(wanted[client]));
  }
}

bool ThesisStage::was_set(std::uint32_t client, std::uint64_t count) const {
  constexpr auto limit = static_cast<std::uint64_t>(thesis_set_share * 0x1p64);
  std::uint64_t state = seed_ ^ (std::uint64_t{client} << 48) ^ count;
  return splitmix64(state) < limit;
}

void ThesisStage::advance(std::uint32_t client, std::uint64_t operations) {
  std::array<std::byte, std::max(thesis_key_max_bytes, thesis_value_max_bytes)> text{};
  const std::uint32_t value_bytes = write_thesis_value(client, 0, text);
  const std::uint32_t key_bytes = write_thesis_key(client, 0, text);
  // All of the client's keys have this in common; their numbers follow. So it is with values.
  const std::uint32_t common_bytes = key_bytes - 1;
  const std::uint64_t common_hash = djb2(std::span(text).first(common_bytes));
  std::array<char, 20> digits{};
  for (std::uint64_t& count = operations_[client]; count < operations; ++count) {
    if (!was_set(client, count)) continue;
    const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), count).ptr;
    const auto digit_count = static_cast<std::size_t>(end - digits.data());
    const std::uint64_t bucket =
        djb2(std::as_bytes(std::span(digits).first(digit_count)), common_hash) % buckets_;
    ++chains_[bucket];
    ++chains_of_client_[std::size_t{client} * buckets_ + bucket];
    ++entries_;
    bytes_ += ChainedStore::entry_bytes + Blob::footprint(common_bytes + digit_count) +
              Blob::footprint(value_bytes - 1 + digit_count);
  }
}

double ThesisStage::mean_chain(std::span<const std::uint32_t> clients) const {
  double sum = 0;
  for (const std::uint32_t client : clients) {
    double entries = 0;
    double met = 0;
    for (std::size_t bucket = 0; bucket < buckets_; ++bucket) {
      const auto own = static_cast<double>(chains_of_client_[std::size_t{client} * buckets_ + bucket]);
      entries += own;
      // A client's keys stand for those that it asks for; each of them is one more in its chain than there
      // would be for a key of the same law that was not SET.
      if (own > 0) met += own * static_cast<double>(chains_[bucket] - 1);
    }
    sum += entries > 0 ? met / entries : static_cast<double>(entries_) / buckets_;
  }
  return clients.empty() ? 0 : sum / static_cast<double>(clients.size());
}

std::optional<StandIns::Found> ThesisStage::find(std::span<const std::byte> key,
                                                 std::span<std::byte> value_out) const {
  const std::optional<ThesisKey> read = read_thesis_key(key);
  if (!read || read->client >= operations_.size() || read->count < 0) return std::nullopt;
  const auto count = static_cast<std::uint64_t>(read->count);
  if (count >= operations_[read->client] || !was_set(read->client, count)) return std::nullopt;
  std::array<std::byte, thesis_value_max_bytes> value{};
  const std::uint32_t value_bytes = write_thesis_value(read->client, read->count, value);
  if (value_bytes <= value_out.size()) std::copy_n(value.begin(), value_bytes, value_out.begin());
  const double then = run_.all_operations_when(read->client, static_cast<double>(count));
  // Below 1, so that the oldest entry is the last one and not the one behind it.
  const double newer = std::clamp(1 - then / run_.all_operations(), 0.0, 1 - 0x1p-32);
  return Found{.newer_part = newer, .value_bytes = value_bytes};
}

}  // namespace rkv::sim
