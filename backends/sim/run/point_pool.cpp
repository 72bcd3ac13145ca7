#include "backends/sim/run/point_pool.hpp"

#include <poll.h>

#include <map>

namespace rkv::sim {
namespace {

constexpr int poll_interval_ms = 200;

}  // namespace

std::vector<PointResult> run_points(const std::vector<PointJob>& jobs, std::size_t at_a_time,
                                    const std::function<bool(std::size_t done)>& waiting) {
  std::vector<PointResult> results(jobs.size());
  std::map<std::size_t, PointProcess> running;
  std::size_t started = 0;
  std::size_t done = 0;
  bool stopping = false;
  while (done < jobs.size()) {
    for (; started < jobs.size() && running.size() < at_a_time && !stopping; ++started) {
      running.emplace(started, jobs[started]);
    }
    if (running.empty()) break;  // told to stop
    std::vector<pollfd> ends;
    for (const auto& [job, process] : running) {
      ends.push_back({.fd = process.fd(), .events = POLLIN, .revents = 0});
    }
    ::poll(ends.data(), ends.size(), poll_interval_ms);
    std::size_t at = 0;
    for (auto it = running.begin(); it != running.end(); ++at) {
      if (ends[at].revents != 0) it->second.read();
      if (!it->second.result()) {
        ++it;
        continue;
      }
      results[it->first] = *it->second.result();
      it = running.erase(it);
      ++done;
    }
    if (!stopping && !waiting(done)) {
      stopping = true;
      for (auto& [job, process] : running) process.stop();
    }
  }
  for (std::size_t job = started; job < jobs.size(); ++job) {
    results[job].clients = jobs[job].clients;
    results[job].partial_reason = "interrupted";
  }
  return results;
}

}  // namespace rkv::sim
