#include "core/store/chained_store.hpp"

#include <fmt/format.h>

#include <mutex>
#include <new>
#include <utility>

#include "core/error.hpp"
#include "core/store/charge.hpp"
#include "core/store/djb2.hpp"

namespace rkv {

namespace {

// While it lives, no entry that could be reached at its start is freed. Both ends are read-modify-writes of
// one counter, and so is reclaim()'s look at it: whichever comes later sees all that went before the other.
class ReaderSection {
 public:
  explicit ReaderSection(std::atomic<std::uint32_t>& readers) : readers_(readers) {
    readers_.fetch_add(1, std::memory_order_acq_rel);
  }
  ~ReaderSection() { readers_.fetch_sub(1, std::memory_order_acq_rel); }
  ReaderSection(const ReaderSection&) = delete;
  ReaderSection& operator=(const ReaderSection&) = delete;

 private:
  std::atomic<std::uint32_t>& readers_;
};

}  // namespace

std::uint64_t ChainedStore::Entry::footprint() const {
  static_assert(sizeof(Entry) == entry_bytes);
  return entry_bytes + Blob::footprint(key.capacity()) + Blob::footprint(value.value.capacity());
}

ChainedStore::ChainedStore(std::uint32_t buckets, Runtime& runtime, std::uint64_t max_bytes)
    : runtime_(runtime), budget_(max_bytes), bucket_count_(buckets) {
  reserve_table(buckets, max_bytes, budget_);
  buckets_ = std::make_unique<Bucket[]>(buckets);
  for (std::uint32_t i = 0; i < buckets; ++i) {
    buckets_[i].mutex = runtime_.make_mutex();
  }
}

void ChainedStore::reserve_table(std::uint32_t buckets, std::uint64_t max_bytes, MemoryBudget& budget) {
  if (buckets == 0) {
    throw InputError("store.buckets is 0: a chained store needs at least one bucket");
  }
  const std::uint64_t table_bytes = std::uint64_t{buckets} * sizeof(Bucket);
  if (!budget.reserve(table_bytes)) {
    throw InputError(fmt::format(
        "store.buckets is {}: the empty table takes {} bytes, the store may use {}; ask for fewer buckets",
        buckets, table_bytes, max_bytes));
  }
}

ChainedStore::~ChainedStore() {
  ChainedStore::reset();
}

GetResult ChainedStore::get(std::span<const std::byte> key, std::span<std::byte> value_out, Work& work) {
  Bucket& bucket = bucket_of(key);
  const ReaderSection section(bucket.readers);
  Entry* const entry = find(bucket, key, work).entry;
  if (entry == nullptr) {
    return {ResponseCode::key_error, 0};
  }
  return entry->value.read(runtime_, value_out, work);
}

ResponseCode ChainedStore::set(std::span<const std::byte> key, std::span<const std::byte> value, Work& work) {
  Bucket& bucket = bucket_of(key);
  const std::lock_guard guard(*bucket.mutex);
  reclaim(bucket);
  Entry* const entry = find(bucket, key, work).entry;
  const ResponseCode code = entry != nullptr ? entry->value.overwrite(runtime_, budget_, value, work)
                                             : insert(bucket, key, value, work);
  work.working_set_bytes = budget_.used_bytes();
  return code;
}

ResponseCode ChainedStore::del(std::span<const std::byte> key, Work& work) {
  Bucket& bucket = bucket_of(key);
  const std::lock_guard guard(*bucket.mutex);
  reclaim(bucket);
  const auto [entry, link] = find(bucket, key, work);
  if (entry == nullptr || !runtime_.try_lock(entry->value.lock)) {
    return ResponseCode::key_error;
  }
  // A GET that stands on the entry goes on along its link, which is therefore left as it is.
  link->store(entry->next.load(std::memory_order_relaxed), std::memory_order_release);
  entries_.fetch_sub(1, std::memory_order_relaxed);
  runtime_.unlock(entry->value.lock);
  entry->next_retired = std::exchange(bucket.retired, entry);
  return ResponseCode::ok;
}

void ChainedStore::reset() {
  for (std::uint32_t i = 0; i < bucket_count_; ++i) {
    Bucket& bucket = buckets_[i];
    const std::lock_guard guard(*bucket.mutex);
    std::uint64_t forgotten = 0;
    Entry* entry = bucket.head.exchange(nullptr, std::memory_order_acq_rel);
    for (; entry != nullptr; entry = entry->next.load(std::memory_order_relaxed)) {
      entry->next_retired = std::exchange(bucket.retired, entry);
      ++forgotten;
    }
    entries_.fetch_sub(forgotten, std::memory_order_relaxed);
    reclaim(bucket);
  }
}

ChainedStore::Bucket& ChainedStore::bucket_of(std::span<const std::byte> key) {
  return buckets_[djb2(key) % bucket_count_];
}

ChainedStore::Found ChainedStore::find(Bucket& bucket, std::span<const std::byte> key, Work& work) {
  std::atomic<Entry*>* link = &bucket.head;
  Entry* entry = link->load(std::memory_order_acquire);
  std::uint64_t walked = 0;
  while (entry != nullptr) {
    ++walked;
    if (entry->key.equals(key)) {
      break;
    }
    link = &entry->next;
    entry = link->load(std::memory_order_acquire);
  }
  charge_walk(runtime_, walked, budget_.used_bytes(), work);
  return {entry, link};
}

ResponseCode ChainedStore::insert(Bucket& bucket, std::span<const std::byte> key,
                                  std::span<const std::byte> value, Work& work) {
  if (key.size() > Blob::max_bytes || value.size() > Blob::max_bytes) {
    return ResponseCode::store_error;
  }
  const std::uint64_t bytes = entry_bytes + Blob::footprint(key.size()) + Blob::footprint(value.size());
  if (!budget_.reserve(bytes)) {
    return ResponseCode::store_error;
  }
  std::unique_ptr<Entry> entry(new (std::nothrow) Entry);
  if (entry != nullptr) {
    entry->key = Blob::copy_of(key);
    entry->value.value = Blob::copy_of(value);
  }
  if (entry == nullptr || !entry->key || !entry->value.value) {
    budget_.release(bytes);
    return ResponseCode::store_error;
  }
  charge_copy(runtime_, key.size() + value.size(), work);
  entry->next.store(bucket.head.load(std::memory_order_relaxed), std::memory_order_relaxed);
  entries_.fetch_add(1, std::memory_order_relaxed);
  bucket.head.store(entry.release(), std::memory_order_release);
  return ResponseCode::ok;
}

void ChainedStore::reclaim(Bucket& bucket) {
  if (bucket.retired == nullptr || bucket.readers.fetch_add(0, std::memory_order_acq_rel) != 0) {
    return;
  }
  Entry** link = &bucket.retired;
  while (*link != nullptr) {
    if ((*link)->value.lock.state.load(std::memory_order_acquire) == 0) {
      free(std::exchange(*link, (*link)->next_retired));
    } else {
      link = &(*link)->next_retired;
    }
  }
}

void ChainedStore::free(Entry* entry) {
  budget_.release(entry->footprint());
  delete entry;
}

}  // namespace rkv
