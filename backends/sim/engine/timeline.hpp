// A timeline of threads on CPUs and of the cards' work, as the Chrome trace format has it (JSON array of
// complete events, times in microseconds), which Perfetto and chrome://tracing open. Spans are written as
// they end. Format: "Trace Event Format", Google, 2016.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>

#include "backends/sim/engine/time.hpp"

namespace rkv::sim {

class Timeline {
 public:
  // Throws rkv::Error when the file can't be made. It must not exist.
  explicit Timeline(const std::filesystem::path& file);
  ~Timeline();  // ends the document

  // A row of the picture has a name: a CPU, a card's unit.
  void name_host(std::uint32_t host, std::string_view name);
  void name_row(std::uint32_t host, std::uint32_t row, std::string_view name);
  void span(std::uint32_t host, std::uint32_t row, std::string_view what, Ps begin, Ps end);

  // Rows of a host: its CPUs from 0, then the card's.
  static constexpr std::uint32_t first_nic_row = 10'000;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void separate();

  std::unique_ptr<std::FILE, Close> file_;
  bool first_ = true;
};

}  // namespace rkv::sim
