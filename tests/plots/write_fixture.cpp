// Writes the reports that the plots are tested with: a real run with traces and its simulation.
// write_fixture DIR makes DIR/real and DIR/sim.
#include <filesystem>
#include <iostream>
#include <vector>

#include "core/error.hpp"
#include "core/measure/trace.hpp"
#include "core/report/run_directory.hpp"
#include "tests/report/sample.hpp"

namespace {

std::vector<rkv::TraceBuffer> sample_traces(std::uint32_t clients, std::int64_t operations) {
  std::vector<rkv::TraceBuffer> traces;
  for (std::uint32_t client = 0; client < clients; ++client) {
    auto& trace = traces.emplace_back(client, static_cast<std::size_t>(operations));
    rkv::Instant sent(std::chrono::milliseconds(100) * client);
    for (std::int64_t i = 0; i < operations; ++i) {
      const rkv::Duration latency(5000 + 500 * client + 20 * i + i * 7919 % 1000);
      trace.add(
          {sent, sent + latency, static_cast<std::uint64_t>(i), rkv::Method::get, rkv::ResponseCode::ok});
      sent += latency + std::chrono::milliseconds(2);
    }
  }
  return traces;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::cerr << "usage: write_fixture DIR\n";
    return 2;
  }
  const std::filesystem::path folder(argv[1]);
  auto real = rkv::test::sample_report();
  auto real_run = rkv::RunDirectory::at(folder / "real");
  for (const auto& [index, format] :
       {std::pair{0, rkv::TraceFormat::csv}, std::pair{2, rkv::TraceFormat::binary}}) {
    auto& point = real.points[static_cast<std::size_t>(index)];
    const auto file = real_run.trace_file(point.clients, rkv::file_ending(format));
    rkv::write_trace(file, format, sample_traces(point.clients, 60), rkv::Instant());
    point.trace_file = file.filename();
  }
  real_run.write(real);

  auto sim = rkv::test::sample_report();
  sim.backend = rkv::Report::Backend::sim;
  sim.start_time.reset();
  sim.points = {rkv::test::sample_point(1, 300), rkv::test::sample_point(4, 300)};
  rkv::RunDirectory::at(folder / "sim").write(sim);
  return 0;
} catch (const rkv::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
