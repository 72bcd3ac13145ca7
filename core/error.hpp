// Errors that a person must act on. What failed on a data path is a value instead.
#pragma once

#include <stdexcept>
#include <string>

namespace rkv {

// Something went wrong while setting up or running: a device, a peer, the operating system.
// The message says what, where and what to do. Programs print it and exit with 1.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The input was bad: scenario, option, profile. Programs print it and exit with 2, before anything started.
class InputError : public Error {
 public:
  using Error::Error;
};

}  // namespace rkv
