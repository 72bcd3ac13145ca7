// Which CPUs this machine has, and tying the calling thread to some of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rkv::verbs {

// CPU numbers from a kernel list such as "0-3,8,10-11".
[[nodiscard]] std::vector<int> parse_cpu_list(std::string_view list);

// The CPUs that are online.
[[nodiscard]] std::vector<int> online_cpus();

// Throws rkv::Error naming the first of `cores` that is not online, and those that are.
void require_online(std::string_view thread_name, const std::vector<int>& cores);

// Lets the calling thread run on exactly `cores`. Throws rkv::Error when the operating system refuses or
// grants less, as it does silently for CPUs outside this process's cpuset.
void pin_this_thread(std::string_view thread_name, const std::vector<int>& cores);

}  // namespace rkv::verbs
