#include "backends/verbs/soft/fault/torn_copy.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "backends/verbs/soft/fault/fault_stream.hpp"
#include "backends/verbs/soft/verbs/clock.hpp"

namespace rkv::soft {
namespace {

void pause(std::mt19937_64& chance, std::uint64_t mean_ns) {
  const std::uint64_t until = monotonic_ns() + chance() % (2 * mean_ns + 1);
  while (monotonic_ns() < until) {
  }
}

// The words are those of the side that others look at.
void copy_torn(CopyFunction copy, std::byte* to, const std::byte* from, std::size_t bytes,
               const std::byte* looked_at, bool shuffled) {
  constexpr std::size_t word = sizeof(std::uint64_t);
  thread_local std::mt19937_64 chance(monotonic_ns());
  const std::size_t head = (word - reinterpret_cast<std::uintptr_t>(looked_at) % word) % word;
  std::vector<std::size_t> starts{0};
  for (std::size_t at = head == 0 ? word : head; at < bytes; at += word) starts.push_back(at);
  std::vector<std::size_t> order(starts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (shuffled) std::shuffle(order.begin(), order.end(), chance);
  const std::uint64_t mean_ns = TornCopies::word_pause_ns();
  for (const std::size_t i : order) {
    pause(chance, mean_ns);
    const std::size_t end = i + 1 < starts.size() ? starts[i + 1] : bytes;
    copy(to + starts[i], from + starts[i], end - starts[i]);
  }
}

void torn_publish(std::byte* to, const std::byte* from, std::size_t bytes) {
  copy_torn(copy_publish, to, from, bytes, to, TornCopies::shuffle_writes());
}

void torn_observe(std::byte* to, const std::byte* from, std::size_t bytes) {
  copy_torn(copy_observe, to, from, bytes, from, TornCopies::shuffle_reads());
}

bool torn() {
  return FaultStream::active() && TornCopies::word_pause_ns() > 0;
}

}  // namespace

CopyFunction write_copy() {
  return torn() ? torn_publish : copy_publish;
}

CopyFunction read_copy() {
  return torn() ? torn_observe : copy_observe;
}

}  // namespace rkv::soft
