#include "core/workload/thesis_text.hpp"

#include <charconv>
#include <cstring>
#include <string_view>

namespace rkv {
namespace {

std::uint32_t write_text(std::string_view before, std::uint32_t client, std::int64_t count,
                         std::span<std::byte> out) {
  constexpr std::string_view between = " count ";
  char* const begin = reinterpret_cast<char*>(out.data());
  char* const end = begin + out.size();
  std::memcpy(begin, before.data(), before.size());
  char* position = std::to_chars(begin + before.size(), end, client).ptr;
  std::memcpy(position, between.data(), between.size());
  position = std::to_chars(position + between.size(), end, count).ptr;
  return static_cast<std::uint32_t>(position - begin);
}

}  // namespace

std::uint32_t write_thesis_key(std::uint32_t client, std::int64_t count, std::span<std::byte> out) {
  return write_text("Key from instance ", client, count, out);
}

std::uint32_t write_thesis_value(std::uint32_t client, std::int64_t count, std::span<std::byte> out) {
  return write_text("Message from instance ", client, count, out);
}

}  // namespace rkv
