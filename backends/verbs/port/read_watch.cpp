#include "backends/verbs/port/read_watch.hpp"

#include <algorithm>
#include <atomic>

namespace rkv::verbs {
namespace {

// Acquire: whoever sees the last byte sees all that lie before it.
bool written(const std::byte* byte) {
  auto& value = *reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(byte));
  return std::atomic_ref(value).load(std::memory_order_acquire) != 0;
}

}  // namespace

void ReadWatch::fail(std::uint32_t queue_pair, std::uint64_t id) {
  const auto read = std::ranges::find_if(
      reads_, [&](const Read& each) { return each.queue_pair == queue_pair && each.id == id; });
  if (read != reads_.end()) reads_.erase(read);
}

void ReadWatch::forget(std::uint32_t queue_pair) {
  const auto is_its = [&](const auto& each) { return each.queue_pair == queue_pair; };
  std::erase_if(reads_, is_its);
  auto* const end = held_.data() + held_end_;
  held_end_ -= static_cast<std::uint32_t>(end - std::remove_if(held_.data() + held_begin_, end, is_its));
}

std::uint32_t ReadWatch::take_ended(std::span<Completion> out) {
  bool any = false;
  // From the latest to the first: what is seen of one then holds for those before it.
  for (auto read = reads_.rbegin(); read != reads_.rend(); ++read) {
    read->ended = read->ended || written(read->last);
    any = any || read->ended;
  }
  if (!any) return 0;
  std::uint32_t count = 0;
  auto left = reads_.begin();  // behind those that stay
  for (auto read = reads_.begin(); read != reads_.end(); ++read) {
    if (count < out.size() && read->ended) {
      out[count++] = {.id = read->id, .queue_pair = read->queue_pair};
    } else {
      *left++ = *read;
    }
  }
  reads_.erase(left, reads_.end());
  return count;
}

std::uint32_t ReadWatch::take_held(std::span<Completion> out) {
  const auto count = std::min(held_end_ - held_begin_, static_cast<std::uint32_t>(out.size()));
  std::copy_n(held_.begin() + held_begin_, count, out.begin());
  held_begin_ += count;
  return count;
}

}  // namespace rkv::verbs
