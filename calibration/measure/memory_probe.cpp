#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>

#include "backends/verbs/port/system_error.hpp"
#include "backends/verbs/port/thread_runtime.hpp"
#include "calibration/measure/names.hpp"
#include "calibration/measure/probes.hpp"
#include "calibration/measure/stopwatch.hpp"

namespace rkv::calibration {
namespace {

constexpr std::size_t short_copy_bytes = 256;
constexpr std::size_t long_copy_bytes = 4096;
constexpr unsigned copies = 500;

class CopyProbe final : public Probe {
 public:
  [[nodiscard]] std::string_view name() const override { return "copying"; }

  void repeat(Samples& samples) override {
    const double short_copy = copy_ns(short_copy_bytes);
    const double long_copy = copy_ns(long_copy_bytes);
    samples.add(sampled::copy_per_byte, (long_copy - short_copy) / (long_copy_bytes - short_copy_bytes));
  }

 private:
  double copy_ns(std::size_t bytes) {
    return each_of(copies, [&] {
      asm volatile("" : "+r"(bytes));  // not known, as in the store
      std::memcpy(to_.data(), from_.data(), bytes);
      keep(to_.data());
    });
  }

  alignas(64) std::array<std::byte, long_copy_bytes> from_{};
  alignas(64) std::array<std::byte, long_copy_bytes> to_{};
};

// Of anonymous pages, all of them present.
class Pages {
 public:
  explicit Pages(std::size_t bytes) : bytes_(bytes) {
    void* const start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) throw verbs::system_error("memory bandwidth", "mmap", errno);
    start_ = static_cast<std::byte*>(start);
    ::madvise(start, bytes, MADV_HUGEPAGE);  // else the walk through page tables is measured with it
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { ::munmap(start_, bytes_); }
  [[nodiscard]] std::span<std::byte> get() const { return {start_, bytes_}; }

 private:
  std::byte* start_ = nullptr;
  std::size_t bytes_;
};

std::uint64_t sum_of(std::span<const std::byte> bytes) {
  std::uint64_t sum = 0;
  std::array<std::uint64_t, 8> line;
  for (std::size_t at = 0; at + sizeof line <= bytes.size(); at += sizeof line) {
    std::memcpy(line.data(), bytes.data() + at, sizeof line);
    for (const std::uint64_t word : line) sum += word;
  }
  return sum;
}

// Every CPU reads on where it stopped in its own part, all at the same time. By CPU time, so that another
// program on one of the CPUs makes it not slower than it is.
class BandwidthProbe final : public Probe {
 public:
  BandwidthProbe(const Bench& bench, std::size_t bytes) : cpus_(bench.machine.cpus.all), pages_(bytes) {
    constexpr std::size_t step = 16 << 20;
    for (std::size_t at = 0; at < bytes; at += step) {
      bench.throw_if_stopped();
      const auto part = pages_.get().subspan(at, std::min(step, bytes - at));
      std::memset(part.data(), 1, part.size());
    }
  }

  [[nodiscard]] std::string_view name() const override { return "memory bandwidth"; }
  [[nodiscard]] unsigned every() const override { return 4; }

  void repeat(Samples& samples) override {
    const std::size_t part = pages_.get().size() / cpus_.size() / read_bytes * read_bytes;
    std::vector<double> rates(cpus_.size());
    std::vector<std::unique_ptr<Thread>> threads;
    for (std::size_t i = 0; i < cpus_.size(); ++i) {
      const auto bytes = pages_.get().subspan(i * part + next_ % part, read_bytes);
      threads.push_back(runtime_.spawn({.name = "bandwidth", .cores = {cpus_[i]}}, [&rates, i, bytes] {
        const double start = cpu_time_ns();
        keep(sum_of(bytes));
        rates[i] = static_cast<double>(bytes.size()) / (cpu_time_ns() - start);
      }));
    }
    double sum = 0;
    for (std::size_t i = 0; i < threads.size(); ++i) {
      threads[i]->join();
      sum += rates[i];
    }
    next_ += read_bytes;
    samples.add(sampled::bandwidth_bytes_per_ns, sum);
  }

  static constexpr std::size_t read_bytes = 32 << 20;  // by each CPU

 private:
  std::vector<int> cpus_;
  Pages pages_;
  verbs::ThreadRuntime runtime_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Probe> make_copy_probe() {
  return std::make_unique<CopyProbe>();
}

std::unique_ptr<Probe> make_bandwidth_probe(const Bench& bench, Samples& samples) {
  const auto refuse = [&](const char* why) {
    samples.cannot(sampled::bandwidth_bytes_per_ns, why);
    return nullptr;
  };
  if (bench.effort.quick) return refuse("--quick fills no memory past the caches");
  if (bench.machine.sockets > 1) return refuse("the profile wants one socket's, and here are several");
  if (!bench.machine.all_cpus_usable) return refuse("this process may not use all CPUs");
  constexpr std::uint64_t least_bytes = 256 << 20;
  const std::uint64_t bytes = std::max({least_bytes, 2 * bench.machine.last_level_cache_bytes,
                                        2 * BandwidthProbe::read_bytes * bench.machine.cpus.all.size()});
  if (bytes > bench.machine.available_memory_bytes / 4) {
    return refuse("needs twice the last-level cache, which is more than a fourth of the available memory");
  }
  return std::make_unique<BandwidthProbe>(bench, bytes);
}

}  // namespace rkv::calibration
