#include "core/measure/trace.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace rkv;

namespace {

constexpr Instant at(std::int64_t time_ns) {
  return Instant(Duration(time_ns));
}

std::vector<TraceBuffer> two_clients() {
  std::vector<TraceBuffer> clients;
  clients.emplace_back(0, 2);
  clients.emplace_back(7, 1);
  clients[0].add({at(1000), at(3500), 42, Method::set, ResponseCode::ok});
  clients[0].add({at(4000), at(4999), no_key_id, Method::get, ResponseCode::key_error});
  clients[1].add({at(900), at(1'001'900), 1, Method::get, ResponseCode::ok});
  clients[1].add({at(2'000'000), at(2'000'001), 2, Method::get, ResponseCode::ok});
  return clients;
}

std::int64_t little_endian(const std::string& bytes, std::size_t offset, std::size_t count) {
  std::uint64_t number = 0;
  for (std::size_t byte = count; byte-- > 0;) {
    number = number << 8 | static_cast<std::uint8_t>(bytes.at(offset + byte));
  }
  return static_cast<std::int64_t>(number);
}

}  // namespace

TEST_CASE("a full trace buffer counts what it has no room for") {
  const auto clients = two_clients();
  CHECK(clients[0].overflow() == 0);
  CHECK(clients[1].records().size() == 1);
  CHECK(clients[1].overflow() == 1);
}

TEST_CASE("a trace as CSV has the thesis's columns") {
  const test::TemporaryFolder folder;
  write_trace(folder / "t.csv", TraceFormat::csv, two_clients(), at(1000));
  CHECK(test::contents(folder / "t.csv") ==
        "client,operation,method,code,sent_ns,received_ns,latency_us,key_id\n"
        "0,0,SET,OK,0,2500,2.500,42\n"
        "0,1,GET,KEY_ERROR,3000,3999,0.999,\n"
        "7,0,GET,OK,-100,1000900,1001.000,1\n");
}

TEST_CASE("a binary trace has the documented layout") {
  const test::TemporaryFolder folder;
  write_trace(folder / "t.bin", TraceFormat::binary, two_clients(), at(1000));
  const auto bytes = test::contents(folder / "t.bin");
  REQUIRE(bytes.size() == 40 + 3 * 40);
  CHECK(bytes.substr(0, 8) == "RKVTRACE");
  CHECK(little_endian(bytes, 8, 4) == 1);    // version
  CHECK(little_endian(bytes, 12, 4) == 40);  // header bytes
  CHECK(little_endian(bytes, 16, 4) == 40);  // record bytes
  CHECK(little_endian(bytes, 20, 4) == 2);   // clients
  CHECK(little_endian(bytes, 24, 8) == 3);   // records
  CHECK(little_endian(bytes, 32, 8) == 1);   // overflow
  const std::size_t last = 40 + 2 * 40;
  CHECK(little_endian(bytes, last, 4) == 7);
  CHECK(little_endian(bytes, last + 4, 1) == 1);  // GET
  CHECK(little_endian(bytes, last + 5, 1) == 0);  // OK
  CHECK(little_endian(bytes, last + 6, 2) == 0);
  CHECK(little_endian(bytes, last + 8, 8) == 0);  // operation
  CHECK(little_endian(bytes, last + 16, 8) == -100);
  CHECK(little_endian(bytes, last + 24, 8) == 1'000'900);
  CHECK(little_endian(bytes, last + 32, 8) == 1);
  CHECK(little_endian(bytes, 40 + 40 + 32, 8) == -1);  // no key
}

TEST_CASE("a trace is never written over a file") {
  const test::TemporaryFolder folder;
  write_trace(folder / "t.csv", TraceFormat::csv, two_clients(), at(0));
  CHECK_THROWS_AS(write_trace(folder / "t.csv", TraceFormat::csv, two_clients(), at(0)), Error);
  CHECK_THROWS_AS(write_trace(folder / "none" / "t.csv", TraceFormat::csv, two_clients(), at(0)), Error);
}

TEST_CASE("a trace's format is known by its file's ending") {
  CHECK(trace_format("csv") == TraceFormat::csv);
  CHECK(trace_format("bin") == TraceFormat::binary);
  CHECK_FALSE(trace_format("txt").has_value());
}
