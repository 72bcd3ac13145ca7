// What only the real machine has: CPUs, file descriptors, addresses, errors of the operating system.
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/select.h>

#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>

#include "backends/verbs/port/clock.hpp"
#include "backends/verbs/port/cpu_set.hpp"
#include "backends/verbs/port/file_descriptor.hpp"
#include "backends/verbs/port/system_error.hpp"
#include "backends/verbs/port/tcp_network.hpp"
#include "backends/verbs/port/thread_runtime.hpp"
#include "backends/verbs/port/wait_set.hpp"

namespace rkv::verbs {
namespace {

using namespace std::chrono_literals;

TEST_CASE("a pinned thread runs on its CPU and no other", "[real_host]") {
  ThreadRuntime runtime;
  for (const int cpu : online_cpus()) {
    int seen = -1;
    int allowed = 0;
    runtime
        .spawn({"pinned", {cpu}},
               [&] {
                 seen = ::sched_getcpu();
                 cpu_set_t mask;
                 ::sched_getaffinity(0, sizeof mask, &mask);
                 allowed = CPU_COUNT(&mask);
               })
        ->join();
    CHECK(seen == cpu);
    CHECK(allowed == 1);
  }
}

TEST_CASE("an impossible CPU's error lists the CPUs that there are", "[real_host]") {
  ThreadRuntime runtime;
  CHECK_THROWS_WITH(runtime.spawn({"t", {99'999}}, [] {}),
                    Catch::Contains("its CPUs are " + std::to_string(online_cpus().front())));
}

TEST_CASE("the kernel's CPU lists are understood", "[real_host]") {
  CHECK(parse_cpu_list("0") == std::vector<int>{0});
  CHECK(parse_cpu_list("0-3,8,10-11") == std::vector<int>{0, 1, 2, 3, 8, 10, 11});
  CHECK(parse_cpu_list("").empty());
}

TEST_CASE("a stop flag may be requested in a signal handler while a thread sleeps", "[real_host]") {
  ThreadRuntime runtime;
  static StopFlag* flag = nullptr;
  const auto stop = runtime.make_stop_flag();
  flag = stop.get();
  const auto previous = std::signal(SIGUSR1, [](int) { flag->request(); });
  const auto sleeper = runtime.spawn({"sleeper", {}}, [&] { runtime.sleep_until(never, *stop); });
  std::raise(SIGUSR1);
  sleeper->join();
  std::signal(SIGUSR1, previous);
  CHECK(stop->requested());
}

TEST_CASE("errors name place, call, reason and what to do", "[real_host]") {
  CHECK_THAT(
      system_error("mlx5_0", "ibv_reg_mr", ENOMEM).what(),
      Catch::Contains("mlx5_0: ibv_reg_mr failed: Cannot allocate memory") && Catch::Contains("ulimit -l"));
  CHECK_THAT(system_error("x", "socket", EMFILE).what(), Catch::Contains("ulimit -n"));
}

TEST_CASE("IPv6 is served and dialled like IPv4", "[real_host]") {
  TcpNetwork network("::1");
  const auto listener = network.listen(1);
  const auto client = network.dial(listener->address(), {64, 64, {}}, clock_now() + 10s);
  const auto server = listener->accept({64, 64, {}}, clock_now() + 10s);
  REQUIRE(server);
  CHECK(client->send(std::vector<std::byte>(8)) == StreamSend::accepted);
}

TEST_CASE("addresses must be numeric and this host's own", "[real_host]") {
  TcpNetwork names("localhost");
  CHECK_THROWS_WITH(names.listen(1), Catch::Contains("'localhost'") && Catch::Contains("in numbers"));
  TcpNetwork foreign("192.0.2.1");
  CHECK_THROWS_WITH(foreign.listen(1), Catch::Contains("192.0.2.1: bind failed"));
}

TEST_CASE("select is refused a file descriptor that it cannot take", "[real_host]") {
  TcpNetwork network;
  ThreadRuntime runtime;
  VerbsWaitSets sets;
  const auto stop = runtime.make_stop_flag();
  const auto listener = network.listen(1);
  rlimit files{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &files) == 0);
  if (files.rlim_max < FD_SETSIZE + 16) return;  // then no descriptor can be that large
  files.rlim_cur = files.rlim_max;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &files) == 0);
  std::vector<FileDescriptor> taken;
  while (taken.empty() || taken.back().get() < FD_SETSIZE) {
    taken.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    REQUIRE(taken.back().valid());
  }
  const StreamSpec by_select{64, 64, SocketOptions::Wait::select};
  const auto client = network.dial(listener->address(), by_select, clock_now() + 10s);
  const std::array<Stream*, 1> streams{client.get()};
  CHECK_THROWS_WITH(sets.make_wait_set({{}, streams}, *stop), Catch::Contains("select(2)"));
}

}  // namespace
}  // namespace rkv::verbs
