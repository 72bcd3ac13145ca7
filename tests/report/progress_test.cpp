#include "core/report/progress.hpp"

#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>

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
