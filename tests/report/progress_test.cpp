#include "core/report/progress.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <string>

using namespace rkv;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("progress of a run that ends by operations") {
  Progress progress{.label = "uc_nonblocking",
                    .clients_up = 8,
                    .clients = 8,
                    .operations = 1'204'000,
                    .total_operations = 10'000'000,
                    .rate_ops_s = 245'100,
                    .elapsed = seconds(5)};
  CHECK(format_progress(progress) ==
        "uc_nonblocking: 8/8 clients, 1.20 M of 10.0 M ops (12 %), 245 k/s, 36 s left");
  CHECK(format_progress(progress, 20) == "uc_nonblocking: 8/8 ");
  progress.rate_ops_s = 0;
  CHECK_FALSE(time_left(progress).has_value());
  progress.rate_ops_s = 1e-30;  // no overflow
  CHECK(time_left(progress) == seconds(1'000'000'000));
}

TEST_CASE("progress of a run that ends by time") {
  Progress progress{.label = "r",
                    .clients_up = 1,
                    .clients = 2,
                    .operations = 999,
                    .rate_ops_s = 12.4,
                    .elapsed = milliseconds(19'400),
                    .duration = seconds(20)};
  CHECK(format_progress(progress) == "r: 1/2 clients, 999 ops, 12/s, 1 s left");
  progress.elapsed = seconds(30);
  CHECK(time_left(progress) == seconds(0));
  progress.duration = seconds(10'000);
  CHECK(format_progress(progress) == "r: 1/2 clients, 999 ops, 12/s, 2 h 46 min left");
  progress.duration = seconds(30 + 125);
  CHECK(format_progress(progress) == "r: 1/2 clients, 999 ops, 12/s, 2 min 05 s left");
}

TEST_CASE("nothing is shown where there is no terminal") {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  {
    ProgressLine line(pipe[1]);
    CHECK_FALSE(line.on_terminal());
    line.show("hidden");
  }
  ::close(pipe[1]);
  char byte = 0;
  CHECK(::read(pipe[0], &byte, 1) == 0);
  ::close(pipe[0]);
}

TEST_CASE("a line on a terminal replaces the one before and is gone at the end") {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(master >= 0);
  REQUIRE(::grantpt(master) == 0);
  REQUIRE(::unlockpt(master) == 0);
  const int terminal = ::open(::ptsname(master), O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  {
    ProgressLine line(terminal);
    CHECK(line.on_terminal());
    line.show("one");
    line.show("two");
    line.clear();
    line.clear();
    line.show("three");
  }
  const std::string expected = "\rone\x1b[K\rtwo\x1b[K\r\x1b[K\rthree\x1b[K\r\x1b[K";
  std::string shown(expected.size(), ' ');
  // What was written in pieces may arrive in pieces.
  std::size_t got = 0;
  for (ssize_t n = 1; n > 0 && got < shown.size(); got += static_cast<std::size_t>(n)) {
    n = ::read(master, shown.data() + got, shown.size() - got);
    REQUIRE(n > 0);
  }
  CHECK(shown == expected);
  ::close(terminal);
  ::close(master);
}
