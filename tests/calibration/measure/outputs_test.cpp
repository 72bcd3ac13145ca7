#include "calibration/measure/outputs.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/error.hpp"

using rkv::InputError;
using rkv::calibration::Outputs;
namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("rkv-outputs-" + std::to_string(::getpid()))) {
    fs::remove_all(path_);
    fs::create_directory(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  [[nodiscard]] fs::path operator/(const char* name) const { return path_ / name; }
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(path_), fs::directory_iterator());
  }

 private:
  fs::path path_;
};

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write(const fs::path& file, const char* text) {
  std::ofstream(file) << text;
}

}  // namespace

TEST_CASE("a profile and its measurements are written side by side, and nothing else", "[calibration]") {
  const Folder folder;
  const Outputs outputs(folder / "my.json", false);
  outputs.write("profile", "figures");
  CHECK(text_of(folder / "my.json") == "profile");
  CHECK(text_of(folder / "my.measurements.json") == "figures");
  CHECK(folder.files() == 2);
}

TEST_CASE("files that exist are replaced only when that was asked for", "[calibration]") {
  const Folder folder;
  const char* existing = GENERATE("my.json", "my.measurements.json");
  write(folder / existing, "precious");
  CHECK_THROWS_WITH(Outputs(folder / "my.json", false),
                    Catch::Contains(existing) && Catch::Contains("--force"));
  CHECK(text_of(folder / existing) == "precious");
  Outputs(folder / "my.json", true).write("profile", "figures");
  CHECK(text_of(folder / "my.json") == "profile");
  CHECK(text_of(folder / "my.measurements.json") == "figures");
}

TEST_CASE("a file that came while measuring is not replaced either, and no half is left", "[calibration]") {
  const Folder folder;
  const Outputs outputs(folder / "my.json", false);
  write(folder / "my.json", "precious");
  CHECK_THROWS_AS(outputs.write("profile", "figures"), rkv::Error);
  CHECK(text_of(folder / "my.json") == "precious");
  CHECK(folder.files() == 1);
}

TEST_CASE("names that no profile can have are refused", "[calibration]") {
  const Folder folder;
  CHECK_THROWS_AS(Outputs(folder / "my.txt", false), InputError);
  CHECK_THROWS_AS(Outputs(folder / "nowhere" / "my.json", false), InputError);
  fs::create_directory(folder / "dir.json");
  CHECK_THROWS_AS(Outputs(folder / "dir.json", true), InputError);
}
