// Tells a thread that waits for sockets that there is something to look at. Thread-safe.
#pragma once

#include "backends/verbs/port/file_descriptor.hpp"

namespace rkv::control {

class Doorbell {
 public:
  Doorbell();  // throws rkv::Error
  void ring() noexcept;
  // Whether it was rung since it was last asked.
  [[nodiscard]] bool rung() noexcept;
  // Readable when it was rung.
  [[nodiscard]] int fd() const { return event_.get(); }

 private:
  verbs::FileDescriptor event_;
};

}  // namespace rkv::control
