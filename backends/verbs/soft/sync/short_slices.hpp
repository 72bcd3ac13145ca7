// For threads that others wait for, and that do little each time.
#pragma once

namespace rkv::soft {

// Lets the calling thread run soon after it was woken although others spin on every CPU: Linux 6.12 and later
// let a thread with a shorter slice go first. Elsewhere it changes nothing.
void ask_for_short_slices();

}  // namespace rkv::soft
