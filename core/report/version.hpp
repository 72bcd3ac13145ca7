// Which rkv this is.
#pragma once

#include <string_view>

namespace rkv {

// The project's version and what `git describe --tags --always --dirty` said when this was built; the version
// alone where the source is not a git checkout.
[[nodiscard]] std::string_view program_version();

}  // namespace rkv
