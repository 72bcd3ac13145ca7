// A thread that is woken without taking the CPU from who wakes it, so that waking it can be timed by itself.
// Header only.
#pragma once

#include <sched.h>

#include <chrono>
#include <thread>

#include "calibration/measure/asleep.hpp"

namespace rkv::calibration {

// By the thread that will sleep: Linux never preempts for a thread of SCHED_BATCH (sched(7)).
inline void let_others_go_on() {
  const sched_param none{};
  ::sched_setscheduler(0, SCHED_BATCH, &none);
}

// Gives it the CPU until it sleeps; then goes on until what that left in the caches is as in a run.
inline void let_it_sleep(const Sleeper& sleeper) {
  std::this_thread::sleep_for(std::chrono::microseconds{200});
  sleeper.await_sleep();
}

}  // namespace rkv::calibration
