// The memory of the process on a host, as far as its growth holds threads up.
//
// A thread that has allocated another page of memory, and gives none back, makes its heap longer (mprotect in
// an arena of glibc's, malloc/arena.c, grow_heap) and then touches the page for the first time (a fault).
// Each takes the process's memory map for memory.map_page, one thread at a time: Linux's mmap_sem, which a
// release hands to the thread that waited longest (kernel/rwsem.c). That one has it from then on, but has to
// wake up first: a CPU that wakes slowly, or one that runs another thread, keeps all of them waiting.
//
//   at most   1 / (wake-up + map_hand_over + map_page)   mappings a second while several threads wait
#pragma once

#include <deque>

#include "backends/sim/cpu/operation_pool.hpp"
#include "backends/sim/cpu/thread.hpp"
#include "backends/sim/profile/profile.hpp"

namespace rkv::sim {

class AddressSpace {
 public:
  explicit AddressSpace(const HostProfile& costs) : costs_(costs) {}
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  // The thread allocates so much and keeps it. Records what that makes it do.
  void allocate(Thread& thread, std::uint64_t bytes);

 private:
  class Mapping final : public Operation {
   public:
    explicit Mapping(AddressSpace& space) : space_(space) {}
    Next step(Thread& thread) override;
    void on_signal(Thread&) override {}

   private:
    enum class Stage : std::uint8_t { begin, asleep, mapping, releasing };

    AddressSpace& space_;
    Stage stage_ = Stage::begin;
    Ps since_ = 0;
  };

  const HostProfile& costs_;
  bool held_ = false;
  std::deque<Thread*> waiting_;
  OperationPool<Mapping, AddressSpace> mappings_{*this};
};

}  // namespace rkv::sim
