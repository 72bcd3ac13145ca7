#include "backends/sim/run/thesis_stage.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/store/blob.hpp"
#include "core/store/chained_store.hpp"
#include "core/store/djb2.hpp"
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

// The texts of a client's keys and values but for their numbers, which follow.
struct ThesisStage::Texts {
  explicit Texts(std::uint32_t client) {
    std::array<std::byte, std::max(thesis_key_max_bytes, thesis_value_max_bytes)> text{};
    value_bytes = write_thesis_value(client, 0, text) - 1;
    key_bytes = write_thesis_key(client, 0, text) - 1;
    key_hash = djb2(std::span(text).first(key_bytes));
  }

  struct Key {
    std::size_t digits;
    std::uint64_t hash;
  };
  [[nodiscard]] Key key(std::uint64_t count) const {
    std::array<char, 20> digits{};
    const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), count).ptr;
    const auto size = static_cast<std::size_t>(end - digits.data());
    return {size, djb2(std::as_bytes(std::span(digits).first(size)), key_hash)};
  }

  std::uint32_t key_bytes = 0;
  std::uint32_t value_bytes = 0;
  std::uint64_t key_hash = 0;
};

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
  const Texts texts(client);
  for (std::uint64_t& count = operations_[client]; count < operations; ++count) {
    if (!was_set(client, count)) continue;
    const Texts::Key key = texts.key(count);
    const std::uint64_t bucket = key.hash % buckets_;
    ++chains_[bucket];
    ++chains_of_client_[std::size_t{client} * buckets_ + bucket];
    ++entries_;
    bytes_ += ChainedStore::entry_bytes + Blob::footprint(texts.key_bytes + key.digits) +
              Blob::footprint(texts.value_bytes + key.digits);
  }
}

// Those that were SET stand for all that a GET may ask for.
double ThesisStage::mean_chain_of_own(std::uint32_t client) const {
  double entries = 0;
  double met = 0;
  for (std::size_t bucket = 0; bucket < buckets_; ++bucket) {
    const auto own = static_cast<double>(chains_of_client_[std::size_t{client} * buckets_ + bucket]);
    entries += own;
    if (own > 0) met += own * static_cast<double>(chains_[bucket] - 1);
  }
  return entries > 0 ? met / entries : static_cast<double>(entries_) / buckets_;
}

double ThesisStage::mean_chain_ahead(std::uint32_t client, std::uint64_t ahead) const {
  const Texts texts(client);
  const std::uint64_t first = operations_[client];
  std::uint64_t met = 0;
  for (std::uint64_t count = first; count < first + ahead; ++count) {
    met += chains_[texts.key(count).hash % buckets_];
  }
  return static_cast<double>(met) / static_cast<double>(ahead);
}

double ThesisStage::mean_walk(std::uint32_t client, std::uint64_t ahead) const {
  const double of_own = mean_chain_of_own(client);
  const double of_ahead = mean_chain_ahead(client, ahead);
  const double half_way = static_cast<double>(ahead) / 2;
  const double keys_ahead = half_way / (static_cast<double>(operations_[client]) + half_way);
  const double of_gets = of_own + keys_ahead * (of_ahead - of_own);
  return (1 - thesis_set_share) * part_walked_by_get * of_gets + thesis_set_share * of_ahead;
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
