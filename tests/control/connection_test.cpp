// Frames of a control connection, whole, in pieces and hostile.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "tests/control/live_server.hpp"

using namespace rkv;
using namespace rkv::test;
using namespace std::chrono_literals;

namespace {

// One end is a Connection, the other takes any bytes.
struct Pipe {
  Pipe() : connection(make(), "the other end") {}
  void write(const std::string& bytes) const {
    REQUIRE(::send(raw.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(bytes.size()));
  }
  void close() { raw = verbs::FileDescriptor(); }

  verbs::FileDescriptor raw;
  control::Connection connection;

 private:
  verbs::FileDescriptor make() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    raw = verbs::FileDescriptor(ends[0]);
    return verbs::FileDescriptor(ends[1]);
  }
};

std::string frame(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(text.size() >> (8 * i) & 0xff));
  return bytes + text;
}

}  // namespace

TEST_CASE("a message arrives whole however its bytes are cut", "[connection]") {
  Pipe pipe;
  const std::string bytes = frame(R"({"a": [1, 2, {"b": "c"}]})");
  for (const char byte : bytes) {
    CHECK_FALSE(pipe.connection.receive(control::Clock::now()));
    pipe.write({byte});
  }
  const auto message = pipe.connection.receive(deadline());
  REQUIRE(message);
  CHECK(*message == nlohmann::json::parse(R"({"a": [1, 2, {"b": "c"}]})"));
}

TEST_CASE("messages that arrive together are taken one by one", "[connection]") {
  Pipe pipe;
  pipe.write(frame(R"({"n": 1})") + frame(R"({"n": 2})") + frame(R"({"n": 3})").substr(0, 6));
  CHECK(pipe.connection.receive(deadline())->at("n") == 1);
  CHECK(pipe.connection.receive(deadline())->at("n") == 2);
  CHECK_FALSE(pipe.connection.receive(control::Clock::now()));
}

TEST_CASE("what one end sends the other receives, large or not UTF-8", "[connection]") {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  control::Connection left{verbs::FileDescriptor(ends[0]), "left"};
  control::Connection right{verbs::FileDescriptor(ends[1]), "right"};
  const std::string large(3U << 20, 'x');
  std::thread sender([&] { left.send({{"large", large}, {"cut", "caf\xc3"}}); });
  const auto message = right.receive(deadline());
  sender.join();
  REQUIRE(message);
  CHECK(message->at("large") == large);
  CHECK(message->at("cut").get<std::string>().substr(0, 3) == "caf");
}

TEST_CASE("frames that are no message of ours are refused", "[connection]") {
  const std::string bad =
      GENERATE(std::string("\xff\xff\xff\xff"),     // 4 GiB to come
               std::string("\x01\x00\x00\x01", 4),  // one byte more than the most
               frame("not json"), frame("[1, 2]"), frame("7"), frame("{\"a\": 1} x"), frame(""),
               frame("{\"a\": \"\xff\xfe\"}"),  // not UTF-8
               frame(R"({"a": )" + std::string(100'000, '[') + std::string(100'000, ']') + "}"),
               std::string("GET / HTTP/1.1\r\nHost: here\r\n\r\n"));
  Pipe pipe;
  std::thread writer([&] { ::send(pipe.raw.get(), bad.data(), bad.size(), MSG_NOSIGNAL); });
  CHECK_THROWS_WITH(pipe.connection.receive(deadline()),
                    Catch::Contains("the other end sent a message") && Catch::Contains("not an rkv-real"));
  writer.join();
}

TEST_CASE("a connection that ends within a message says so", "[connection]") {
  Pipe pipe;
  pipe.write(frame(R"({"a": 1})").substr(0, 7));
  pipe.close();
  CHECK_THROWS_WITH(pipe.connection.receive(deadline()), Catch::Contains("the other end is gone"));
}

TEST_CASE("sending to who is gone is an error, not a signal", "[connection]") {
  Pipe pipe;
  pipe.close();
  CHECK_THROWS_WITH(pipe.connection.send({{"a", 1}}), Catch::Contains("the other end is gone"));
}

TEST_CASE("waiting ends with the deadline or when it is woken", "[connection]") {
  Pipe pipe;
  CHECK_FALSE(pipe.connection.receive(control::Clock::now() + 5ms));
  control::StopSignal stop;
  stop.raise();
  CHECK_FALSE(pipe.connection.receive(deadline(), stop.fd()));
}

TEST_CASE("random bytes are never a message", "[connection]") {
  std::mt19937 random(20261121);
  for (int round = 0; round < 300; ++round) {
    std::string bytes(random() % 64 + 1, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    Pipe pipe;
    pipe.write(round % 2 == 0 ? bytes : frame(bytes));
    pipe.close();
    CHECK_THROWS_AS(pipe.connection.receive(deadline()), Error);
  }
}

TEST_CASE("mutated messages are read or refused", "[connection]") {
  std::mt19937 random(7);
  const std::string whole = frame(hello_with(small_scenario()).dump());
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string bytes = whole;
    for (int change = 0; change < 3; ++change) {
      bytes[4 + random() % (bytes.size() - 4)] = static_cast<char>(random());
    }
    Pipe pipe;
    pipe.write(bytes);
    pipe.close();
    try {
      const auto message = pipe.connection.receive(deadline());
      CHECK(message->is_object());
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > 0);
}

TEST_CASE("addresses are read as people write them", "[connection]") {
  const auto read = [](const char* text) { return control::parse_host_port(text, 5, "--server"); };
  CHECK((read("host").host == "host" && read("host").port == 5));
  CHECK((read("host:6").host == "host" && read("host:6").port == 6));
  CHECK((read("[::1]:7").host == "::1" && read("[::1]:7").port == 7));
  CHECK((read("[::1]").host == "::1" && read("[::1]").port == 5));
  CHECK((read("::1").host == "::1" && read("::1").port == 5));
  for (const char* bad : {"", ":5", "host:", "host:70000", "host:x", "host:-1", "[::1", "[::1]7", "[]:5"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(read(bad), InputError);
  }
}

TEST_CASE("a port in use is told, with what to do", "[connection]") {
  const control::Listener first({.host = "127.0.0.1", .port = 0});
  CHECK_THROWS_WITH(control::Listener({.host = "127.0.0.1", .port = first.port()}),
                    Catch::Contains("in use") && Catch::Contains("--listen"));
}

TEST_CASE("no server there is told, with what to do", "[connection]") {
  std::uint16_t port = 0;
  {
    const control::Listener gone({.host = "127.0.0.1", .port = 0});
    port = gone.port();
  }
  CHECK_THROWS_WITH(control::dial({.host = "127.0.0.1", .port = port}, deadline()),
                    Catch::Contains("no rkv-real server at 127.0.0.1") && Catch::Contains("--role server"));
  CHECK_THROWS_AS(control::dial({.host = "no.such.host.invalid", .port = port}, deadline()), Error);
}
