// Names that become names of folders, files or devices, so that they hold nothing that could lead elsewhere.
// (A pattern in a schema would do, but std::regex, which evaluates it, recurses once a character: a long text
// would end the process.) Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "core/document/problems.hpp"

namespace rkv {

inline constexpr std::string_view name_signs = "._=-";

// Adds a problem unless the name is letters, digits and `signs`, a letter or digit first.
void check_name(const std::string& at, const std::string& name, std::string_view signs, Problems& problems);

// A name that check_name accepts, from a file's name without its ending. `kind` is put in front where it
// must.
std::string name_from(const std::string& stem, std::string_view kind);

}  // namespace rkv
