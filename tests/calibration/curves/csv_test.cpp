// Files that are CSV, and files that nearly are.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "calibration/curves/csv.hpp"
#include "core/error.hpp"
#include "tests/support/temporary_file.hpp"

namespace {

using Cells = std::vector<std::string>;

std::vector<rkv::calibration::CsvRow> rows(const std::string& text) {
  const rkv::TemporaryFile file("table.csv", text);
  return rkv::calibration::read_csv(file.path());
}

}  // namespace

TEST_CASE("rows come with their lines, blank ones are passed over") {
  const auto table = rows("\n a , b\n\n1,2\r\n \n3,\n,4");
  REQUIRE(table.size() == 4);
  CHECK(table[0].line == 2);
  CHECK(table[0].cells == Cells{"a", "b"});
  CHECK(table[1].line == 4);
  CHECK(table[1].cells == Cells{"1", "2"});
  CHECK(table[2].line == 6);
  CHECK(table[2].cells == Cells{"3", ""});
  CHECK(table[3].line == 7);
  CHECK(table[3].cells == Cells{"", "4"});
}

TEST_CASE("quoted cells keep commas, spaces and quotes") {
  const auto table = rows("\xEF\xBB\xBF\"a\",b\n\" x, \"\"y\"\"\",2\n");
  REQUIRE(table.size() == 2);
  CHECK(table[0].cells == Cells{"a", "b"});
  CHECK(table[1].cells == Cells{" x, \"y\"", "2"});
}

TEST_CASE("what is not quite CSV is refused with its line") {
  struct Bad {
    const char* text;
    const char* says;
  };
  const auto bad = GENERATE(
      Bad{"a,b\n1,\"2\n", "table.csv:2: misplaced quotes"},
      Bad{"a,b\n1,2\n\"1\"x,2\n", "table.csv:3: misplaced quotes"},
      Bad{"a,b\n1,x\"y\n", "table.csv:2: misplaced quotes"},
      Bad{"a,b\n1,2\n\n1,2,3\n", "table.csv:4: 3 cells, but the header on line 1 has 2"},
      Bad{"a,b\n1\n", "table.csv:2: 1 cells"}, Bad{"a,b\r1,2\r3,4\n", "table.csv:1: a carriage return"});
  CAPTURE(bad.text);
  CHECK_THROWS_WITH(rows(bad.text), Catch::Contains(bad.says));
  CHECK_THROWS_AS(rows(bad.text), rkv::InputError);
}

TEST_CASE("an error in one line leaves nothing behind for other files") {
  CHECK_THROWS_AS(rows("a\n\"\n"), rkv::InputError);
  CHECK(rows("a\n1\n").size() == 2);
}

TEST_CASE("a file that is not there is named") {
  CHECK_THROWS_WITH(rkv::calibration::read_csv("nowhere.csv"),
                    Catch::Contains("nowhere.csv: there is no such"));
  CHECK_THROWS_AS(rkv::calibration::read_csv("/"), rkv::InputError);
}
