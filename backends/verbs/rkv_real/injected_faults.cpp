#include "backends/verbs/rkv_real/injected_faults.hpp"

#include "backends/verbs/soft/fault.h"

namespace rkv::real {

std::map<std::string, std::uint64_t> InjectedFaults::now() {
  rkv_soft_fault_counters counters{};
  rkv_soft_get_fault_counters(&counters);
  return {{"drop", counters.dropped},
          {"duplicate", counters.duplicated},
          {"reorder", counters.reordered},
          {"rnr", counters.forced_rnr},
          {"delay", counters.delayed}};
}

std::map<std::string, std::uint64_t> InjectedFaults::since() const {
  std::map<std::string, std::uint64_t> faults;
  for (const auto& [name, count] : now()) {
    if (count != before_.at(name)) faults[name] = count - before_.at(name);
  }
  return faults;
}

}  // namespace rkv::real
