// Protection domains, thread domains and parent domains.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>

namespace rkv::soft {

struct ProtectionDomain {
  ibv_pd ibv;                             // first, so that an ibv_pd* is a ProtectionDomain*
  std::atomic<int> users{0};              // objects that keep it from being deallocated
  ProtectionDomain* parent;               // of a parent domain: the domain it stands for; otherwise itself
  std::atomic<int>* thread_domain_users;  // of a parent domain that was given a thread domain; otherwise null

  static ProtectionDomain* from(ibv_pd* pd) { return reinterpret_cast<ProtectionDomain*>(pd); }
  // The domain that keys are checked against.
  static ProtectionDomain* protection_of(ibv_pd* pd) { return from(pd)->parent; }
};

struct ThreadDomain {
  ibv_td ibv;
  std::atomic<int> users{0};

  static ThreadDomain* from(ibv_td* td) { return reinterpret_cast<ThreadDomain*>(td); }
};

}  // namespace rkv::soft
