#include "core/store/modelled_chained_store.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "core/error.hpp"
#include "core/store/chained_store.hpp"
#include "core/store/charge.hpp"
#include "core/store/djb2.hpp"

namespace rkv {

namespace {

// Most GETs of the thesis miss. In a sparse hash table most of these end at an empty slot, after one access
// to memory instead of three; that costs 35 bytes an entry.
constexpr float entries_a_slot = 0.25F;

// While it lives, no entry that could be reached at its start is freed.
class ModelledReaderSection {
 public:
  explicit ModelledReaderSection(std::uint32_t& readers) : readers_(readers) { ++readers_; }
  ~ModelledReaderSection() { --readers_; }
  ModelledReaderSection(const ModelledReaderSection&) = delete;
  ModelledReaderSection& operator=(const ModelledReaderSection&) = delete;

 private:
  std::uint32_t& readers_;
};

}  // namespace

ModelledChainedStore::ModelledChainedStore(std::uint32_t buckets, Runtime& runtime, std::uint64_t max_bytes,
                                           const StandIns* stand_ins)
    : runtime_(runtime), budget_(max_bytes), stand_ins_(stand_ins) {
  ChainedStore::reserve_table(buckets, max_bytes, budget_);
  buckets_ = std::vector<Bucket>(buckets);
  for (Bucket& bucket : buckets_) {
    bucket.mutex = runtime_.make_mutex();
    bucket.chain.max_load_factor(entries_a_slot);
  }
  if (stand_ins_ == nullptr) return;
  if (!budget_.reserve(stand_ins_->bytes())) throw Error("the store's stand-ins pass its max_bytes");
  entries_ = stand_ins_->entries();
  for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i].stand_ins = stand_ins_->entries(i);
}

GetResult ModelledChainedStore::get(std::span<const std::byte> key, std::span<std::byte> value_out,
                                    Work& work) {
  Bucket& bucket = bucket_of(key);
  const ModelledReaderSection section(bucket.readers);
  if (stand_ins_ != nullptr && !bucket.chain.contains(key)) {
    if (const auto stand_in = stand_ins_->find(key, value_out)) {
      return read_stand_in(bucket, *stand_in, value_out.size(), work);
    }
  }
  const auto found = find(bucket, key, work);
  if (found == bucket.chain.end()) {
    return {ResponseCode::key_error, 0};
  }
  return found->second.value.read(runtime_, value_out, work);
}

ResponseCode ModelledChainedStore::set(std::span<const std::byte> key, std::span<const std::byte> value,
                                       Work& work) {
  Bucket& bucket = bucket_of(key);
  const std::lock_guard guard(*bucket.mutex);
  reclaim(bucket);
  const auto found = find_to_write(bucket, key, work);
  const ResponseCode code = found != bucket.chain.end()
                                ? found->second.value.overwrite(runtime_, budget_, value, work)
                                : insert(bucket, key, value, work);
  work.working_set_bytes = budget_.used_bytes();
  return code;
}

ResponseCode ModelledChainedStore::del(std::span<const std::byte> key, Work& work) {
  Bucket& bucket = bucket_of(key);
  const std::lock_guard guard(*bucket.mutex);
  reclaim(bucket);
  const auto found = find_to_write(bucket, key, work);
  if (found == bucket.chain.end() || !runtime_.try_lock(found->second.value.lock)) {
    return ResponseCode::key_error;
  }
  bucket.order.remove(found->second.number);
  --entries_;
  runtime_.unlock(found->second.value.lock);
  bucket.retired.push_back(bucket.chain.extract(found));
  return ResponseCode::ok;
}

void ModelledChainedStore::reset() {
  for (Bucket& bucket : buckets_) {
    const std::lock_guard guard(*bucket.mutex);
    entries_ -= bucket.chain.size();
    while (!bucket.chain.empty()) {
      bucket.retired.push_back(bucket.chain.extract(bucket.chain.begin()));
    }
    bucket.order = {};
    entries_ -= std::exchange(bucket.stand_ins, 0);
    reclaim(bucket);
  }
  if (stand_ins_ != nullptr) budget_.release(std::exchange(stand_ins_, nullptr)->bytes());
}

ModelledChainedStore::Bucket& ModelledChainedStore::bucket_of(std::span<const std::byte> key) {
  return buckets_[djb2(key) % buckets_.size()];
}

ModelledChainedStore::Chain::iterator ModelledChainedStore::find(Bucket& bucket,
                                                                 std::span<const std::byte> key, Work& work) {
  const auto found = bucket.chain.find(key);
  const std::uint64_t walked = found != bucket.chain.end() ? bucket.order.place(found->second.number)
                                                           : bucket.chain.size() + bucket.stand_ins;
  charge_walk(runtime_, walked, budget_.used_bytes(), work);
  return found;
}

ModelledChainedStore::Chain::iterator ModelledChainedStore::find_to_write(Bucket& bucket,
                                                                          std::span<const std::byte> key,
                                                                          Work& work) {
  const auto found = find(bucket, key, work);
  if (stand_ins_ != nullptr && found == bucket.chain.end() && stand_ins_->find(key, {})) {
    throw Error("a SET or DEL of a key that has a stand-in in the modelled store");
  }
  return found;
}

GetResult ModelledChainedStore::read_stand_in(const Bucket& bucket, const StandIns::Found& found,
                                              std::size_t room_bytes, Work& work) {
  const auto newer = static_cast<std::uint64_t>(found.newer_part * static_cast<double>(bucket.stand_ins));
  charge_walk(runtime_, bucket.chain.size() + newer + 1, budget_.used_bytes(), work);
  if (!runtime_.try_lock_shared(stand_in_lock_)) {
    return {ResponseCode::key_error, 0};
  }
  GetResult result{ResponseCode::store_error, 0};
  if (found.value_bytes <= room_bytes) {
    charge_copy(runtime_, found.value_bytes, work);
    result = {ResponseCode::ok, found.value_bytes};
  }
  runtime_.unlock_shared(stand_in_lock_);
  return result;
}

ResponseCode ModelledChainedStore::insert(Bucket& bucket, std::span<const std::byte> key,
                                          std::span<const std::byte> value, Work& work) {
  if (key.size() > Blob::max_bytes || value.size() > Blob::max_bytes ||
      !budget_.reserve(ChainedStore::entry_bytes + Blob::footprint(key.size()) +
                       Blob::footprint(value.size()))) {
    return ResponseCode::store_error;
  }
  Blob key_blob = Blob::copy_of(key);
  Blob value_blob = Blob::copy_of(value);
  if (!key_blob || !value_blob) {
    throw std::bad_alloc();  // of the machine that simulates, so it must not become a result
  }
  if (bucket.order.worn()) {
    renumber(bucket);
  }
  Entry& entry = bucket.chain.try_emplace(std::move(key_blob)).first->second;
  entry.value.value = std::move(value_blob);
  entry.number = bucket.order.add();
  ++entries_;
  charge_copy(runtime_, key.size() + value.size(), work);
  return ResponseCode::ok;
}

void ModelledChainedStore::renumber(Bucket& bucket) {
  std::vector<Entry*> oldest_first;
  oldest_first.reserve(bucket.chain.size());
  for (auto& [key, entry] : bucket.chain) {
    oldest_first.push_back(&entry);
  }
  std::sort(oldest_first.begin(), oldest_first.end(),
            [](const Entry* one, const Entry* other) { return one->number < other->number; });
  bucket.order = {};
  for (Entry* entry : oldest_first) {
    entry->number = bucket.order.add();
  }
}

void ModelledChainedStore::reclaim(Bucket& bucket) {
  if (bucket.readers != 0) {
    return;
  }
  std::erase_if(bucket.retired, [this](const Chain::node_type& node) {
    const LockedValue& gone = node.mapped().value;
    if (gone.lock.state.load(std::memory_order_relaxed) != 0) {
      return false;
    }
    budget_.release(ChainedStore::entry_bytes + Blob::footprint(node.key().capacity()) +
                    Blob::footprint(gone.value.capacity()));
    return true;
  });
}

}  // namespace rkv
