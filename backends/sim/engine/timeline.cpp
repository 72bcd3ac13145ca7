#include "backends/sim/engine/timeline.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "core/error.hpp"

namespace rkv::sim {
namespace {

constexpr double ps_in_us = 1e6;

std::string quoted(std::string_view text) {
  return nlohmann::json(text).dump();
}

}  // namespace

Timeline::Timeline(const std::filesystem::path& file) : file_(std::fopen(file.c_str(), "wx")) {
  if (!file_) throw Error(fmt::format("{}: can't be made: {}", file.string(), std::strerror(errno)));
  fmt::print(file_.get(), "[\n");
}

Timeline::~Timeline() {
  fmt::print(file_.get(), "\n]\n");
}

void Timeline::separate() {
  if (!first_) fmt::print(file_.get(), ",\n");
  first_ = false;
}

void Timeline::name_host(std::uint32_t host, std::string_view name) {
  separate();
  fmt::print(file_.get(), R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", host,
             quoted(name));
}

void Timeline::name_row(std::uint32_t host, std::uint32_t row, std::string_view name) {
  separate();
  fmt::print(file_.get(), R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})", host,
             row, quoted(name));
}

void Timeline::span(std::uint32_t host, std::uint32_t row, std::string_view what, Ps begin, Ps end) {
  separate();
  fmt::print(file_.get(), R"({{"ph":"X","name":{},"pid":{},"tid":{},"ts":{:.6f},"dur":{:.6f}}})",
             quoted(what), host, row, static_cast<double>(begin) / ps_in_us,
             static_cast<double>(end - begin) / ps_in_us);
}

}  // namespace rkv::sim
