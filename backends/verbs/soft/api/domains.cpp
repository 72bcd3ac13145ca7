// Protection domains, thread domains and parent domains.
#include <cerrno>
#include <new>

#include "backends/verbs/soft/api/forward.hpp"
#include "backends/verbs/soft/api/operations.hpp"
#include "backends/verbs/soft/verbs/context.hpp"
#include "backends/verbs/soft/verbs/protection_domain.hpp"

namespace rkv::soft {

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attributes) {
  if (attributes->comp_mask != 0) {
    errno = EINVAL;
    return nullptr;
  }
  auto* const td = new (std::nothrow) ThreadDomain{.ibv = {.context = context}};
  if (td == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  Context::from(context)->hold();
  return &td->ibv;
}

int dealloc_td(ibv_td* handle) {
  ThreadDomain* const td = ThreadDomain::from(handle);
  if (td->users.load() != 0) {
    return EBUSY;
  }
  Context::from(handle->context)->drop();
  delete td;
  return 0;
}

ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes) {
  constexpr std::uint32_t known =
      IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
  if (attributes->pd == nullptr || (attributes->comp_mask & ~known) != 0) {
    errno = EINVAL;
    return nullptr;
  }
  ProtectionDomain* const parent = ProtectionDomain::from(attributes->pd)->parent;
  std::atomic<int>* const td_users =
      attributes->td == nullptr ? nullptr : &ThreadDomain::from(attributes->td)->users;
  auto* const pd = new (std::nothrow) ProtectionDomain{
      .ibv = {.context = context, .handle = 0}, .parent = parent, .thread_domain_users = td_users};
  if (pd == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  parent->users.fetch_add(1);
  if (td_users != nullptr) {
    td_users->fetch_add(1);
  }
  Context::from(context)->hold();
  return &pd->ibv;
}

}  // namespace rkv::soft

using namespace rkv::soft;

RKV_SOFT_EXPORT ibv_pd* ibv_alloc_pd(ibv_context* context) {
  if (!is_soft(context)) {
    return RKV_SOFT_NEXT(ibv_alloc_pd, "IBVERBS_1.1", context);
  }
  auto* const pd = new (std::nothrow) ProtectionDomain{
      .ibv = {.context = context, .handle = 0}, .parent = nullptr, .thread_domain_users = nullptr};
  if (pd == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  pd->parent = pd;
  Context::from(context)->hold();
  return &pd->ibv;
}

RKV_SOFT_EXPORT int ibv_dealloc_pd(ibv_pd* handle) {
  if (!is_soft(handle->context)) {
    return RKV_SOFT_NEXT(ibv_dealloc_pd, "IBVERBS_1.1", handle);
  }
  ProtectionDomain* const pd = ProtectionDomain::from(handle);
  if (pd->users.load() != 0) {
    return EBUSY;
  }
  if (pd->parent != pd) {
    pd->parent->users.fetch_sub(1);
  }
  if (pd->thread_domain_users != nullptr) {
    pd->thread_domain_users->fetch_sub(1);
  }
  Context::from(handle->context)->drop();
  delete pd;
  return 0;
}
