#include "core/workload/thesis_text.hpp"

#include <charconv>
#include <cstring>
#include <string_view>
#include <system_error>

namespace rkv {
namespace {

constexpr std::string_view before_key = "Key from instance ";
constexpr std::string_view before_value = "Message from instance ";
constexpr std::string_view between = " count ";

std::uint32_t write_text(std::string_view before, std::uint32_t client, std::int64_t count,
                         std::span<std::byte> out) {
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
  return write_text(before_key, client, count, out);
}

std::uint32_t write_thesis_value(std::uint32_t client, std::int64_t count, std::span<std::byte> out) {
  return write_text(before_value, client, count, out);
}

std::optional<ThesisKey> read_thesis_key(std::span<const std::byte> key) {
  const std::string_view text(reinterpret_cast<const char*>(key.data()), key.size());
  if (!text.starts_with(before_key)) return std::nullopt;
  const char* const end = text.data() + text.size();
  ThesisKey read;
  const auto client = std::from_chars(text.data() + before_key.size(), end, read.client);
  if (client.ec != std::errc{} ||
      !std::string_view(client.ptr, static_cast<std::size_t>(end - client.ptr)).starts_with(between)) {
    return std::nullopt;
  }
  const auto count = std::from_chars(client.ptr + between.size(), end, read.count);
  if (count.ec != std::errc{} || count.ptr != end) return std::nullopt;
  return read;
}

}  // namespace rkv
