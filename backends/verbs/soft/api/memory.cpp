// Memory regions.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>

#include "backends/verbs/soft/api/forward.hpp"
#include "backends/verbs/soft/verbs/context.hpp"
#include "backends/verbs/soft/verbs/limits.hpp"
#include "backends/verbs/soft/verbs/memory_region.hpp"
#include "backends/verbs/soft/verbs/queue_pair_table.hpp"

namespace rkv::soft {
namespace {

constexpr unsigned known_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                  IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB |
                                  IBV_ACCESS_OPTIONAL_RANGE;

// 0 or an errno value.
int check_access(unsigned access) {
  if ((access & (IBV_ACCESS_ON_DEMAND | IBV_ACCESS_MW_BIND)) != 0) {
    return EOPNOTSUPP;
  }
  const bool writes = (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0;
  return (access & ~known_access) != 0 || (writes && (access & IBV_ACCESS_LOCAL_WRITE) == 0) ? EINVAL : 0;
}

// Looks at each page without touching it.
bool is_mapped(std::uintptr_t first_page, std::uintptr_t end, std::uintptr_t page_bytes) {
  std::array<unsigned char, 4'096> resident;
  for (std::uintptr_t page = first_page; page < end; page += resident.size() * page_bytes) {
    const std::uintptr_t bytes = std::min<std::uintptr_t>(end - page, resident.size() * page_bytes);
    if (mincore(reinterpret_cast<void*>(page), bytes, resident.data()) != 0) {
      return false;
    }
  }
  return true;
}

// Does what pinning the pages would: brings them in, and fails where one isn't there or may not be written
// to. A later access to such a page would end this process.
bool populate(const void* address, std::size_t bytes, unsigned access) {
  static const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t first_page = reinterpret_cast<std::uintptr_t>(address) / page_bytes * page_bytes;
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(address) + bytes;
  const int advice = (access & IBV_ACCESS_LOCAL_WRITE) != 0 ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
  if (madvise(reinterpret_cast<void*>(first_page), end - first_page, advice) == 0) {
    return true;
  }
  return errno == EINVAL &&
         is_mapped(first_page, end, page_bytes);  // Linux before 5.14 doesn't know the advice
}

// 0 or an errno value.
int check_range(const void* address, std::size_t bytes, unsigned access) {
  if (bytes == 0 || bytes > limits::max_mr_bytes ||
      reinterpret_cast<std::uintptr_t>(address) + bytes < reinterpret_cast<std::uintptr_t>(address)) {
    return EINVAL;
  }
  return populate(address, bytes, access) ? 0 : EFAULT;
}

ibv_mr* fail_with(int error) {
  errno = error;
  return nullptr;
}

ibv_mr* register_region(ibv_pd* pd, void* address, std::size_t bytes, std::uint64_t iova, unsigned access) {
  if (const int error = check_access(access); error != 0) {
    return fail_with(error);
  }
  if (const int error = check_range(address, bytes, access); error != 0) {
    return fail_with(error);
  }
  auto* const region = new (std::nothrow) MemoryRegion{};
  if (region == nullptr) {
    return fail_with(ENOMEM);
  }
  region->ibv.context = pd->context;
  region->ibv.pd = pd;
  region->ibv.addr = address;
  region->ibv.length = bytes;
  region->access = access;
  region->iova = (access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : iova;
  const std::uint32_t key = KeyTable::instance().insert(*region);
  if (key == 0) {
    delete region;
    return fail_with(ENOMEM);
  }
  region->ibv.lkey = key;
  region->ibv.rkey = key;
  region->ibv.handle = key;
  ProtectionDomain::from(pd)->users.fetch_add(1);
  Context::from(pd->context)->hold();
  return &region->ibv;
}

}  // namespace
}  // namespace rkv::soft

using namespace rkv::soft;

RKV_SOFT_EXPORT ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, std::size_t bytes, int access) {
  if (!is_soft(pd->context)) {
    return RKV_SOFT_NEXT(ibv_reg_mr, "IBVERBS_1.1", pd, address, bytes, access);
  }
  return register_region(pd, address, bytes, reinterpret_cast<std::uintptr_t>(address),
                         static_cast<unsigned>(access));
}

RKV_SOFT_EXPORT ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, std::size_t bytes, std::uint64_t iova,
                                        int access) {
  if (!is_soft(pd->context)) {
    return RKV_SOFT_NEXT(ibv_reg_mr_iova, "IBVERBS_1.7", pd, address, bytes, iova, access);
  }
  return register_region(pd, address, bytes, iova, static_cast<unsigned>(access));
}

RKV_SOFT_EXPORT ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, std::size_t bytes, std::uint64_t iova,
                                         unsigned access) {
  if (!is_soft(pd->context)) {
    return RKV_SOFT_NEXT(ibv_reg_mr_iova2, "IBVERBS_1.8", pd, address, bytes, iova, access);
  }
  return register_region(pd, address, bytes, iova, access);
}

RKV_SOFT_EXPORT ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t bytes,
                                          std::uint64_t iova, int fd, int access) {
  if (!is_soft(pd->context)) {
    return RKV_SOFT_NEXT(ibv_reg_dmabuf_mr, "IBVERBS_1.12", pd, offset, bytes, iova, fd, access);
  }
  return fail_with(EOPNOTSUPP);
}

RKV_SOFT_EXPORT int ibv_rereg_mr(ibv_mr* handle, int flags, ibv_pd* pd, void* address, std::size_t bytes,
                                 int access) {
  if (!is_soft(handle->context)) {
    return RKV_SOFT_NEXT(ibv_rereg_mr, "IBVERBS_1.1", handle, flags, pd, address, bytes, access);
  }
  const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
  const bool changes_pd = (flags & IBV_REREG_MR_CHANGE_PD) != 0;
  const bool changes_access = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0;
  int error = 0;
  if (flags == 0 || (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) != 0 || (changes_pd && pd == nullptr)) {
    error = EINVAL;
  }
  if (error == 0 && changes_access) {
    error = check_access(static_cast<unsigned>(access));
  }
  if (error == 0 && moves) {
    error = check_range(address, bytes,
                        changes_access ? static_cast<unsigned>(access) : MemoryRegion::from(handle)->access);
  }
  if (error != 0) {
    errno = error;
    return IBV_REREG_MR_ERR_INPUT;
  }
  MemoryRegion& region = *MemoryRegion::from(handle);
  const std::uint32_t key = handle->lkey;
  KeyTable::instance().hide(key);
  QueuePairTable::instance().wait_for_data_path();
  if (moves) {
    handle->addr = address;
    handle->length = bytes;
    region.iova =
        (region.access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : reinterpret_cast<std::uintptr_t>(address);
  }
  if (changes_pd) {
    ProtectionDomain::from(pd)->users.fetch_add(1);
    ProtectionDomain::from(handle->pd)->users.fetch_sub(1);
    handle->pd = pd;
  }
  if (changes_access) {
    region.access = static_cast<unsigned>(access);
  }
  KeyTable::instance().change(key, region);
  return 0;
}

RKV_SOFT_EXPORT int ibv_dereg_mr(ibv_mr* handle) {
  if (!is_soft(handle->context)) {
    return RKV_SOFT_NEXT(ibv_dereg_mr, "IBVERBS_1.1", handle);
  }
  KeyTable::instance().hide(handle->lkey);
  QueuePairTable::instance().wait_for_data_path();
  KeyTable::instance().release(handle->lkey);
  ProtectionDomain::from(handle->pd)->users.fetch_sub(1);
  Context::from(handle->context)->drop();
  delete MemoryRegion::from(handle);
  return 0;
}
