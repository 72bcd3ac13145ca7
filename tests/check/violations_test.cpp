// Planted violations, one by one, and the legal answers next to them.
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/check/checker.hpp"
#include "core/scenario/load.hpp"

using rkv::Method;
using rkv::ResponseCode;

namespace {

constexpr std::uint32_t value_bytes = 60;

rkv::Scenario small_scenario_with(const std::string& fields) {
  return rkv::parse_scenario(R"({"load": {"total_operations": 1000, "window": 4},
    "value_size": {"bytes": 60}, )" +
                                 fields + "}",
                             "test");
}

const rkv::Scenario& own_keys() {
  static const rkv::Scenario scenario =
      small_scenario_with(R"("keys": {"count": 10, "scope": "per_client", "preload": false},
    "operations": {"get": 1, "set": 1, "del": 1})");
  return scenario;
}

// Drives the checker of client 1 of 2; its own keys are the odd ones.
class Driver {
 public:
  explicit Driver(const rkv::Scenario& scenario = own_keys())
      : keys_(scenario, 2), checker_(scenario, 1, 2) {}

  std::uint64_t ask(std::uint32_t slot, Method method, std::uint64_t key) {
    rkv::Operation operation;
    operation.method = method;
    operation.key_id = key;
    if (method == Method::set) {
      operation.version = ++version_;
      operation.value_bytes = value_bytes;
    }
    checker_.issued(slot, operation);
    return operation.version;
  }

  bool accepts(std::uint32_t slot, ResponseCode code, const std::vector<std::byte>& value = {}) {
    const std::optional<std::string> complaint = checker_.answered(slot, code, value);
    complaint_ = complaint.value_or("");
    return !complaint;
  }

  // Asked and answered at once.
  std::uint64_t set(std::uint64_t key) {
    const std::uint64_t version = ask(0, Method::set, key);
    REQUIRE(accepts(0, ResponseCode::ok));
    return version;
  }
  bool get_accepts(std::uint64_t key, ResponseCode code, const std::vector<std::byte>& value = {}) {
    ask(0, Method::get, key);
    return accepts(0, code, value);
  }

  [[nodiscard]] std::vector<std::byte> value(std::uint64_t key, std::uint64_t version,
                                             std::uint32_t writer = 1) const {
    std::vector<std::byte> bytes(value_bytes);
    keys_.write_value({key, version, writer, value_bytes}, bytes);
    return bytes;
  }

  rkv::Checker& checker() { return checker_; }
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

 private:
  rkv::KeySpace keys_;
  rkv::Checker checker_;
  std::uint64_t version_ = 0;
  std::string complaint_;
};

constexpr ResponseCode ok = ResponseCode::ok;
constexpr ResponseCode key_error = ResponseCode::key_error;

}  // namespace

TEST_CASE("a stale value is refused, the last one accepted") {
  Driver d;
  const auto first = d.set(1);
  const auto second = d.set(1);
  CHECK(d.get_accepts(1, ok, d.value(1, second)));
  CHECK_FALSE(d.get_accepts(1, ok, d.value(1, first)));
  CHECK(d.complaint().starts_with(
      "client 1: response to GET of key 1: version 1 of client 1 had been replaced"));
}

TEST_CASE("another key's value is refused") {
  Driver d;
  const auto version = d.set(1);
  d.set(3);
  CHECK_FALSE(d.get_accepts(3, ok, d.value(1, version)));
  CHECK(d.complaint().find("belongs to key 1") != std::string::npos);
}

TEST_CASE("a torn or cut value is refused") {
  Driver d;
  const auto first = d.set(1);
  const auto second = d.set(1);
  std::vector<std::byte> torn = d.value(1, second);
  const std::vector<std::byte> old = d.value(1, first);
  std::copy(old.begin() + 40, old.end(), torn.begin() + 40);
  CHECK_FALSE(d.get_accepts(1, ok, torn));
  CHECK(d.complaint().find("torn or damaged") != std::string::npos);
  std::vector<std::byte> cut = d.value(1, second);
  cut.resize(50);
  CHECK_FALSE(d.get_accepts(1, ok, cut));
  CHECK_FALSE(d.get_accepts(1, ok, std::vector<std::byte>(1000)));
  CHECK_FALSE(d.get_accepts(1, ok, {}));
}

TEST_CASE("losing an acknowledged SET is refused") {
  Driver d;
  d.set(1);
  CHECK_FALSE(d.get_accepts(1, key_error));
  CHECK(d.complaint().find("must be there") != std::string::npos);
}

TEST_CASE("a removed value that comes back is refused") {
  Driver d;
  const auto version = d.set(1);
  d.ask(0, Method::del, 1);
  CHECK(d.accepts(0, ok));
  CHECK(d.get_accepts(1, key_error));
  CHECK_FALSE(d.get_accepts(1, ok, d.value(1, version)));
}

TEST_CASE("removing what can't be there, or not finding what must be, is refused") {
  Driver d;
  d.ask(0, Method::del, 1);
  CHECK_FALSE(d.accepts(0, ok));
  d.ask(0, Method::del, 3);
  CHECK(d.accepts(0, key_error));
  d.set(5);
  d.ask(0, Method::del, 5);
  CHECK_FALSE(d.accepts(0, key_error));
}

TEST_CASE("a value that nobody has written is refused") {
  Driver d;
  d.set(1);
  CHECK_FALSE(d.get_accepts(1, ok, d.value(1, 99)));
  CHECK_FALSE(d.get_accepts(1, ok, d.value(1, 1, 0)));  // client 0 doesn't write keys of client 1
  CHECK_FALSE(d.get_accepts(1, ok, d.value(1, 0, rkv::preload_writer)));
  d.set(3);
  CHECK_FALSE(d.get_accepts(1, ok, d.value(1, 2)));  // version 2 went to key 3
}

TEST_CASE("a GET beside a SET may see either value, but not one and then the older") {
  Driver d;
  const auto first = d.set(1);
  d.ask(0, Method::get, 1);
  d.ask(2, Method::get, 1);
  const auto second = d.ask(1, Method::set, 1);
  CHECK(d.accepts(0, ok, d.value(1, first)));
  d.ask(0, Method::get, 1);
  CHECK(d.accepts(0, ok, d.value(1, second)));  // the SET has taken effect by now
  CHECK(d.accepts(2, ok, d.value(1, first)));   // this GET was sent before
  d.ask(0, Method::get, 1);
  CHECK_FALSE(d.accepts(0, ok, d.value(1, first)));  // this one after
  CHECK(d.accepts(1, ok));
}

TEST_CASE("two SETs beside each other leave either value, and it stays") {
  Driver d;
  const auto a = d.ask(0, Method::set, 1);
  const auto b = d.ask(1, Method::set, 1);
  CHECK(d.accepts(0, ok));
  CHECK(d.accepts(1, ok));
  CHECK(d.get_accepts(1, ok, d.value(1, a)));
  CHECK_FALSE(d.get_accepts(1, ok, d.value(1, b)));
}

TEST_CASE("an operation that was given up may take effect at any later time, once") {
  Driver d;
  const auto lost = d.ask(0, Method::set, 1);
  d.checker().unanswered(0);
  CHECK(d.get_accepts(1, key_error));
  const auto later = d.set(1);
  CHECK(d.get_accepts(1, ok, d.value(1, later)));
  CHECK(d.get_accepts(1, ok, d.value(1, lost)));
  CHECK_FALSE(d.get_accepts(1, ok, d.value(1, later)));
  const auto last = d.set(1);
  CHECK_FALSE(d.get_accepts(1, ok, d.value(1, lost)));
  CHECK(d.get_accepts(1, ok, d.value(1, last)));
}

TEST_CASE("codes that a good request can't get are refused") {
  Driver d;
  for (const ResponseCode code :
       {ResponseCode::parsing_error, ResponseCode::unknown_error, static_cast<ResponseCode>(77)}) {
    CHECK_FALSE(d.get_accepts(1, code));
  }
  CHECK_FALSE(d.get_accepts(1, ResponseCode::store_error));
  d.ask(0, Method::set, 1);
  CHECK(d.accepts(0, ResponseCode::store_error));  // full: the SET had no effect
  CHECK(d.get_accepts(1, key_error));
  d.ask(0, Method::set, 1);
  CHECK_FALSE(d.accepts(0, ok, d.value(1, 2)));  // a SET's response has no value
}

TEST_CASE("a lock not obtained is a reason only where somebody can hold it") {
  const std::string chained = R"("store": {"kind": "chained"}, )";
  Driver alone(
      small_scenario_with(chained + R"("keys": {"count": 10, "scope": "per_client", "preload": false},
    "operations": {"get": 1, "set": 1, "del": 1})"));
  const auto version = alone.set(1);
  CHECK_FALSE(alone.get_accepts(1, key_error));
  alone.ask(0, Method::set, 1);
  CHECK_FALSE(alone.accepts(0, key_error));

  alone.ask(0, Method::get, 3);  // two readers don't keep each other out
  alone.ask(1, Method::get, 3);
  CHECK(alone.accepts(0, key_error));
  CHECK(alone.accepts(1, key_error));

  const auto refused = alone.ask(0, Method::set, 5);
  alone.ask(1, Method::get, 5);
  CHECK(alone.accepts(0, key_error));
  CHECK(alone.accepts(1, key_error));
  CHECK_FALSE(alone.get_accepts(5, ok, alone.value(5, refused)));

  alone.ask(0, Method::get, 1);
  alone.checker().repeated(0);  // a copy of that GET may be at the entry at any later time
  CHECK(alone.accepts(0, ok, alone.value(1, version)));
  alone.ask(0, Method::set, 1);
  CHECK(alone.accepts(0, key_error));

  Driver shared(small_scenario_with(
      chained + R"("keys": {"count": 10}, "operations": {"get": 1, "set": 1, "del": 1})"));
  CHECK(shared.get_accepts(1, key_error));
  Driver cuckoo(
      small_scenario_with(R"("keys": {"count": 10}, "operations": {"get": 1, "set": 1, "del": 1})"));
  cuckoo.ask(0, Method::set, 1);
  CHECK_FALSE(cuckoo.accepts(0, key_error));
}

TEST_CASE("shared keys: others' values are accepted, but not what was replaced, or never could be") {
  Driver d(small_scenario_with(R"("keys": {"count": 10}, "operations": {"get": 1, "set": 1})"));
  CHECK(d.get_accepts(1, ok, d.value(1, 0, rkv::preload_writer)));
  CHECK(d.get_accepts(1, ok, d.value(1, 7, 0)));
  CHECK_FALSE(d.get_accepts(1, ok, d.value(1, 0, rkv::preload_writer)));  // seen replaced by client 0's
  const auto mine = d.set(1);
  CHECK_FALSE(d.get_accepts(1, ok, d.value(1, 7, 0)));  // seen before, replaced by mine
  CHECK(d.get_accepts(1, ok, d.value(1, 8, 0)));        // may have come after mine
  CHECK_FALSE(d.get_accepts(1, ok, d.value(1, mine)));  // seen replaced by client 0's
  CHECK_FALSE(d.get_accepts(1, ok, d.value(1, 9, 2)));  // there is no client 2
  CHECK_FALSE(d.get_accepts(1, ok, d.value(1, 0, 0)));  // versions start at 1
  CHECK_FALSE(d.get_accepts(1, key_error));             // nobody removes anything
}

TEST_CASE("the thesis's texts are checked whole") {
  Driver d(rkv::parse_scenario(R"({"preset": "thesis", "load": {"total_operations": 1000}})", "test"));
  const auto text = [](const std::string& s) {
    const auto* bytes = reinterpret_cast<const std::byte*>(s.data());
    return std::vector<std::byte>(bytes, bytes + s.size());
  };
  CHECK(d.get_accepts(2 * 18 + 1, key_error));
  d.set(2 * 18 + 1);  // key number 17
  CHECK(d.get_accepts(2 * 18 + 1, ok, text("Message from instance 1 count 17")));
  CHECK_FALSE(d.get_accepts(2 * 18 + 1, ok, text("Message from instance 1 count 16")));
  CHECK_FALSE(d.get_accepts(2 * 18 + 1, ok, text("Message from instance 1 count 171")));
  CHECK_FALSE(d.get_accepts(2 * 18 + 1, key_error));
  CHECK_FALSE(d.get_accepts(2 * 19 + 1, ok, text("Message from instance 1 count 18")));  // never set
}

TEST_CASE("a PING is answered by OK and nothing else, and no key's history knows of it") {
  Driver driver;
  const std::uint64_t version = driver.set(1);
  driver.ask(0, Method::ping, 0);
  CHECK(driver.accepts(0, ResponseCode::ok));
  driver.ask(0, Method::ping, 0);
  CHECK_FALSE(driver.accepts(0, ResponseCode::key_error));
  driver.ask(0, Method::ping, 0);
  CHECK_FALSE(driver.accepts(0, ResponseCode::ok, driver.value(1, version)));
}
