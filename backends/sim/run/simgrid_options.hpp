// SimGrid's own options (--cfg), tried before anything starts.
#pragma once

#include <string>
#include <vector>

namespace rkv::sim {

// Throws InputError for one that SimGrid doesn't take. SimGrid ends its process over some mistakes, so each
// is tried in a process of its own. SimGrid must not have been started in this one.
void check_simgrid_options(const std::vector<std::string>& options);

}  // namespace rkv::sim
