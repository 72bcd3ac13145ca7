#include "backends/sim/run/point_pool.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace rkv::sim {
namespace {

constexpr int poll_interval_ms = 200;

std::size_t cpus() {
  return static_cast<std::size_t>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L));
}

}  // namespace

PointPool::PointPool(std::vector<PointJob> jobs, std::size_t at_a_time, Waiting waiting)
    : jobs_(std::move(jobs)), at_a_time_(at_a_time != 0 ? at_a_time : cpus()), waiting_(std::move(waiting)) {}

bool PointPool::more() const {
  return given_ < (stopping_ ? started_ : jobs_.size());
}

PointResult PointPool::next() {
  for (;;) {
    start();
    if (const auto found = over_.find(given_); found != over_.end()) {
      ++given_;
      return std::move(over_.extract(found).mapped());
    }
    wait();
  }
}

void PointPool::start() {
  for (; started_ < jobs_.size() && running_.size() < at_a_time_ && !stopping_; ++started_) {
    running_.emplace(started_, jobs_[started_]);
  }
}

void PointPool::wait() {
  std::vector<pollfd> ends;
  for (const auto& [job, process] : running_) {
    ends.push_back({.fd = process.fd(), .events = POLLIN, .revents = 0});
  }
  ::poll(ends.data(), ends.size(), poll_interval_ms);
  std::size_t at = 0;
  for (auto it = running_.begin(); it != running_.end(); ++at) {
    PointProcess& process = it->second;
    if (ends[at].revents != 0) process.read();
    if (!process.result()) {
      ++it;
      continue;
    }
    over_.emplace(it->first, *process.result());
    it = running_.erase(it);
  }
  State state{.done = given_ + over_.size(), .of = jobs_.size(), .first = 0, .of_first = {}};
  if (!running_.empty()) {
    state.first = running_.begin()->first;
    state.of_first = running_.begin()->second.progress();
  }
  if (stopping_ || waiting_(state)) return;
  stopping_ = true;
  for (auto& [job, process] : running_) process.stop();
}

}  // namespace rkv::sim
