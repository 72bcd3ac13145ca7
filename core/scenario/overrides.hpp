// The command line's options that change a scenario. Thread-safe.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/document/overrides.hpp"

namespace rkv {

inline constexpr OverrideOption set_option{"--set", "queue_pair.receive_depth=32"};

// "1,2,4": for --clients. Throws InputError.
std::vector<std::uint32_t> parse_client_list(std::string_view text);

}  // namespace rkv
