#include "core/error.hpp"
#include "core/store/chained_store.hpp"
#include "core/store/cuckoo_store.hpp"
#include "core/store/modelled_chained_store.hpp"
#include "core/store/store.hpp"

namespace rkv {

GetResult Store::locate(std::span<const std::byte>, std::span<std::byte>, Work&) {
  return {ResponseCode::parsing_error, 0};
}

std::unique_ptr<Store> make_store(const StoreOptions& options, Runtime& runtime, std::uint64_t max_bytes) {
  switch (options.kind) {
    case StoreOptions::Kind::chained:
      return std::make_unique<ChainedStore>(options.buckets, runtime, max_bytes);
    case StoreOptions::Kind::cuckoo:
      return std::make_unique<CuckooStore>(runtime, max_bytes);
    case StoreOptions::Kind::items:
      break;
  }
  throw InputError("store.kind: neither chained nor cuckoo");
}

std::unique_ptr<Store> make_modelled_store(const StoreOptions& options, Runtime& runtime,
                                           std::uint64_t max_bytes) {
  if (options.kind == StoreOptions::Kind::chained) {
    return std::make_unique<ModelledChainedStore>(options.buckets, runtime, max_bytes);
  }
  return make_store(options, runtime, max_bytes);
}

}  // namespace rkv
