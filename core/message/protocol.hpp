// The store's vocabulary: methods and response codes, with the names of Troost's benchmark
// (its enums `method` and `response_code`; the codes that it never sends are left out) and one of ours.
#pragma once

#include <cstdint>
#include <string_view>

namespace rkv {

enum class Method : std::uint8_t {
  get = 1,
  set = 2,
  del = 3,
  ping = 4,
  reset = 5,
  locate = 6,  // a GET that is told where the value lies, and READs it (core/exchange/slots/direct_gets.hpp)
};

enum class ResponseCode : std::uint8_t {
  ok = 0,
  key_error = 1,      // GET or DEL: no such key; any: the entry's lock was not obtained
  parsing_error = 2,  // the request's lengths or method make no sense
  store_error = 3,    // the store could not take the value (too long, out of memory)
  unknown_error = 4,
};
inline constexpr std::uint32_t response_code_count = 5;

[[nodiscard]] constexpr std::string_view name(Method method) {
  switch (method) {
    case Method::get:
      return "GET";
    case Method::set:
      return "SET";
    case Method::del:
      return "DEL";
    case Method::ping:
      return "PING";
    case Method::reset:
      return "RESET";
    case Method::locate:
      return "LOCATE";
  }
  return "?";
}

[[nodiscard]] constexpr std::string_view name(ResponseCode code) {
  switch (code) {
    case ResponseCode::ok:
      return "OK";
    case ResponseCode::key_error:
      return "KEY_ERROR";
    case ResponseCode::parsing_error:
      return "PARSING_ERROR";
    case ResponseCode::store_error:
      return "STORE_ERROR";
    case ResponseCode::unknown_error:
      return "UNKNOWN_ERROR";
  }
  return "?";
}

}  // namespace rkv
