#include "backends/sim/run/point_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "backends/sim/engine/timeline.hpp"
#include "backends/sim/run/sample_point.hpp"
#include "core/error.hpp"
#include "core/report/exchange.hpp"

namespace rkv::sim {
namespace {

constexpr std::chrono::milliseconds progress_interval{200};

// In the point's process.
volatile std::sig_atomic_t stop_requested = 0;

void request_stop(int) {
  stop_requested = 1;
}

void write_line(int fd, const nlohmann::json& message) {
  const std::string line = message.dump() + '\n';
  std::size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = ::write(fd, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) ::_exit(1);  // nobody reads any more
    written += static_cast<std::size_t>(count);
  }
}

PointResult run_job(const PointJob& job, int fd) {
  auto last = std::chrono::steady_clock::now();
  const auto keep_on = [&](Ps now, std::uint64_t operations) {
    if (const auto wall = std::chrono::steady_clock::now(); wall - last >= progress_interval) {
      last = wall;
      write_line(fd, {{"simulated_s", static_cast<double>(now) * 1e-12}, {"operations", operations}});
    }
    return stop_requested == 0;
  };
  std::optional<Timeline> timeline;
  if (!job.timeline_file.empty()) timeline.emplace(job.timeline_file);
  const SimulationOptions simulation{.seed = job.scenario->seed,
                                     .timeline = timeline ? &*timeline : nullptr,
                                     .single_steps = job.single_steps};
  PointResult result;
  if (job.sample_operations > 0) {
    result = sample_point(
        *job.profile, *job.scenario, job.clients,
        {.simulation = simulation, .operations_a_window = job.sample_operations, .keep_on = keep_on});
  } else {
    SimulatedPoint point = simulate_point(*job.profile, *job.scenario, job.clients,
                                          {.simulation = simulation, .keep_on = keep_on});
    if (!job.trace_file.empty()) {
      write_trace(job.trace_file, TraceFormat::csv, point.traces, Instant{});
      point.result.trace_file = std::filesystem::path(job.trace_file).filename();
    }
    result = std::move(point.result);
  }
  if (stop_requested != 0 && result.partial()) result.partial_reason = "interrupted";
  return result;
}

// Signals that come while this lives are delivered after it.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, &before_);
  }
  ~HeldSignals() { release(); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  void release() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

[[noreturn]] void child(const PointJob& job, int fd, pid_t parent, const HeldSignals& held) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it died before this was asked for
  try {
    simgrid_engine(job.simgrid);   // takes SIGINT for itself, hence before the next line
    std::signal(SIGINT, SIG_IGN);  // a terminal's Ctrl-C goes to the parent too, which asks with SIGTERM
    std::signal(SIGTERM, request_stop);
    held.release();
    const PointResult result = run_job(job, fd);
    write_line(fd, {{"result", to_json(result)}, {"trace_file", result.trace_file}});
  } catch (const std::exception& error) {
    write_line(fd, {{"failed", error.what()}});
  }
  ::_exit(0);  // nothing of the parent's is to be torn down here
}

}  // namespace

PointProcess::PointProcess(const PointJob& job) : clients_(job.clients) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Error(fmt::format("pipe: {}", std::strerror(errno)));
  std::fflush(nullptr);  // or both processes would write what is buffered
  // A request to stop that came before the new process is ready for it would be lost.
  const HeldSignals held;
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) {
    const int failure = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    throw Error(fmt::format("a process for the point with {} clients could not be started: {}", job.clients,
                            std::strerror(failure)));
  }
  if (pid_ == 0) {
    ::close(ends[0]);
    child(job, ends[1], parent, held);
  }
  ::close(ends[1]);
  fd_ = ends[0];
}

PointProcess::PointProcess(PointProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      fd_(std::exchange(other.fd_, -1)),
      clients_(other.clients_),
      unread_(std::move(other.unread_)),
      progress_(other.progress_),
      result_(std::move(other.result_)) {}

PointProcess::~PointProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (fd_ >= 0) ::close(fd_);
}

void PointProcess::stop() {
  if (pid_ > 0) ::kill(pid_, SIGTERM);
}

void PointProcess::read() {
  char buffer[65536];
  const ssize_t count = ::read(fd_, buffer, sizeof buffer);
  if (count < 0 && errno == EINTR) return;
  if (count <= 0) {
    end();
    return;
  }
  unread_.append(buffer, static_cast<std::size_t>(count));
  for (std::size_t newline = unread_.find('\n'); newline != std::string::npos; newline = unread_.find('\n')) {
    take_line(unread_.substr(0, newline));
    unread_.erase(0, newline + 1);
  }
}

void PointProcess::take_line(const std::string& line) {
  const nlohmann::json message = nlohmann::json::parse(line);
  if (message.contains("result")) {
    result_ = point_from_json(message["result"]);
    result_->trace_file = message["trace_file"];
  } else if (message.contains("failed")) {
    result_.emplace();
    result_->clients = clients_;
    result_->partial_reason = message["failed"];
  } else {
    progress_ = {.simulated_s = message["simulated_s"], .operations = message["operations"]};
  }
}

// The process has ended. One that said nothing has died.
void PointProcess::end() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  if (result_) return;
  result_.emplace();
  result_->clients = clients_;
  result_->partial_reason =
      WIFSIGNALED(status) ? fmt::format("the simulating process died: {}", ::strsignal(WTERMSIG(status)))
                          : fmt::format("the simulating process ended with status {}", WEXITSTATUS(status));
}

}  // namespace rkv::sim
