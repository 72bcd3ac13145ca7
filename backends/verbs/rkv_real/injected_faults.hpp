// What soft0's fault injection (set by environment, backends/verbs/soft/fault.h) did during a point.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace rkv::real {

// Counts from its making on. Of this process, where all of soft0's endpoints are.
class InjectedFaults {
 public:
  InjectedFaults() : before_(now()) {}
  // By the fault's name as in a report; what did not occur is left out.
  [[nodiscard]] std::map<std::string, std::uint64_t> since() const;

 private:
  [[nodiscard]] static std::map<std::string, std::uint64_t> now();
  const std::map<std::string, std::uint64_t> before_;
};

}  // namespace rkv::real
