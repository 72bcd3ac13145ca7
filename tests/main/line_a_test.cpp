#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>
#include <ostream>

namespace {

// The console's text, and a line of its own for each test that ended, for programs (tests/vm/verbs_suite.py).
class LineATest : public Catch::ConsoleReporter {
 public:
  using ConsoleReporter::ConsoleReporter;
  static std::string getDescription() {
    return "as console, and a line a test: 'passed: NAME', 'failed: NAME'";
  }
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    ConsoleReporter::testCaseEnded(stats);
    stream << (stats.totals.assertions.allOk() ? "passed: " : "failed: ") << stats.testInfo.name << std::endl;
  }
};

CATCH_REGISTER_REPORTER("line_a_test", LineATest)

}  // namespace
