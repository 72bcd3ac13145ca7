#include "calibration/measure/outputs.hpp"

#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/error.hpp"

namespace rkv::calibration {
namespace {

namespace fs = std::filesystem;

// A text on its way to a file; gone again unless it was put there.
class Pending {
 public:
  Pending(const fs::path& target, std::string_view text)
      : target_(target),
        temporary_(target.parent_path() / fmt::format(".{}.{}.new", target.filename().string(), ::getpid())) {
    std::ofstream file(temporary_, std::ios::binary | std::ios::trunc);
    file << text;
    file.close();
    if (!file) {
      const int why = errno;
      remove();
      throw Error(fmt::format("{}: cannot be written: {}", target.string(), std::strerror(why)));
    }
  }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  ~Pending() { remove(); }

  void put(bool replace) {
    const int result = replace
                           ? ::rename(temporary_.c_str(), target_.c_str())
                           : ::link(temporary_.c_str(), target_.c_str());  // unlike rename, replaces nothing
    if (result == 0) return;
    throw Error(fmt::format("{}: cannot be put in its place: {}", target_.string(), std::strerror(errno)));
  }

 private:
  void remove() const {
    std::error_code ignored;
    fs::remove(temporary_, ignored);
  }
  fs::path target_;
  fs::path temporary_;
};

}  // namespace

Outputs::Outputs(fs::path profile, bool replace) : profile_(std::move(profile)), replace_(replace) {
  if (profile_.extension() != ".json" || profile_.stem().empty()) {
    throw InputError(fmt::format("--out {}: name the profile something.json", profile_.string()));
  }
  measurements_ = fs::path(profile_).replace_extension(".measurements.json");
  std::error_code error;
  const fs::path folder = profile_.has_parent_path() ? profile_.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error)) {
    throw InputError(fmt::format("--out {}: there is no folder {}", profile_.string(), folder.string()));
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    throw InputError(fmt::format("--out {}: cannot write in {}: {}", profile_.string(), folder.string(),
                                 std::strerror(errno)));
  }
  for (const fs::path& file : {profile_, measurements_}) {
    if (!fs::exists(file, error)) continue;
    if (!fs::is_regular_file(file, error)) {
      throw InputError(fmt::format("--out {}: {} is not a file", profile_.string(), file.string()));
    }
    if (!replace_) {
      throw InputError(
          fmt::format("--out {}: {} exists; name another file, or allow to replace it with --force",
                      profile_.string(), file.string()));
    }
  }
}

void Outputs::write(std::string_view profile_text, std::string_view measurements_text) const {
  Pending measurements(measurements_, measurements_text);
  Pending profile(profile_, profile_text);
  measurements.put(replace_);
  try {
    profile.put(replace_);
  } catch (...) {
    std::error_code ignored;
    if (!replace_) fs::remove(measurements_, ignored);
    throw;
  }
}

}  // namespace rkv::calibration
