#include "core/scenario/overrides.hpp"

#include <fmt/format.h>

#include <charconv>

#include "core/error.hpp"

namespace rkv {

std::vector<std::uint32_t> parse_client_list(std::string_view text) {
  std::vector<std::uint32_t> clients;
  const char* position = text.data();
  const char* const end = text.data() + text.size();
  while (true) {
    std::uint32_t count = 0;
    const auto [after, error] = std::from_chars(position, end, count);
    if (error != std::errc{} || count == 0 || (after != end && *after != ',')) {
      throw InputError(fmt::format(
          "--clients {}: allowed: numbers from 1 to 65536 with commas between them, for example 1,2,4",
          text));
    }
    clients.push_back(count);
    if (after == end) {
      return clients;
    }
    position = after + 1;
  }
}

}  // namespace rkv
