// Random numbers for workloads: xoshiro256** (Blackman and Vigna, "Scrambled Linear Pseudorandom Number
// Generators", ACM TOMS 2021), seeded through splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
//
// Every (seed, stream, purpose) has numbers of its own, so what one client draws, or for what, never changes
// what another one gets: the same scenario asks for the same operations on every backend and in every
// interleaving. An Rng belongs to one thread.
#pragma once

#include <array>
#include <cstdint>

namespace rkv {

// One step of splitmix64: advances the state and returns a number. Also a good mixer of its argument.
[[nodiscard]] constexpr std::uint64_t splitmix64(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// What numbers are drawn for.
enum class Purpose : std::uint64_t {
  operation = 1,
  key = 2,
  value_size = 3,
  arrival = 4,
  key_size = 5,
  preload_size = 6,
  models = 7,  // what a simulated machine does at random: losses, caches
  window = 8   // when clients begin in a window that is simulated out of a run
};

class Rng {
 public:
  explicit constexpr Rng(std::array<std::uint64_t, 4> state) : state_(state) {}

  // `stream` is the client, or the key that a number belongs to.
  constexpr Rng(std::uint64_t seed, std::uint64_t stream, Purpose purpose) {
    std::uint64_t mix = seed;
    mix = splitmix64(mix) ^ stream;
    mix = splitmix64(mix) ^ static_cast<std::uint64_t>(purpose);
    for (std::uint64_t& word : state_) {
      word = splitmix64(mix);
    }
  }

  [[nodiscard]] constexpr std::uint64_t next() {
    const std::uint64_t result = rotated(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotated(state_[3], 45);
    return result;
  }

  // In [0, 1), 53 bits.
  [[nodiscard]] constexpr double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  // In (0, 1]: safe to take a logarithm of.
  [[nodiscard]] constexpr double positive_unit() { return static_cast<double>((next() >> 11) + 1) * 0x1p-53; }

  // In [0, n), n > 0, without bias (Lemire, "Fast Random Integer Generation in an Interval", ACM TOMACS
  // 2019).
  [[nodiscard]] constexpr std::uint64_t below(std::uint64_t n) {
    Wide product = static_cast<Wide>(next()) * n;
    if (static_cast<std::uint64_t>(product) < n) {
      const std::uint64_t threshold = (0 - n) % n;
      while (static_cast<std::uint64_t>(product) < threshold) {
        product = static_cast<Wide>(next()) * n;
      }
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

 private:
  __extension__ using Wide = unsigned __int128;

  static constexpr std::uint64_t rotated(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

  std::array<std::uint64_t, 4> state_{};
};

}  // namespace rkv
